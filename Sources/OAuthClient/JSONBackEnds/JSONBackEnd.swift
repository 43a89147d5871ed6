// SPDX-License-Identifier: MIT

import Text

/// Login, refresh and logout as mobile back ends have them: JSON in, JSON out (kind `json`).
package struct JSONBackEnd: Equatable, Sendable {
    /// `nil`: the first tokens are imported.
    package var loginURL: String?
    package var refreshURL: String
    /// `nil`: the server is not told of a logout.
    package var logoutURL: String?
    package var rules: JSONRules
    /// `nil`: a login sends a password.
    package var codeStep: CodeStep?
    package var constants: JSONConstants

    package init(
        loginURL: String?,
        refreshURL: String,
        logoutURL: String?,
        rules: JSONRules = .common,
        codeStep: CodeStep? = nil,
        constants: JSONConstants = JSONConstants()
    ) {
        self.loginURL = loginURL
        self.refreshURL = refreshURL
        self.logoutURL = logoutURL
        self.rules = rules
        self.codeStep = codeStep
        self.constants = constants
    }
}

/// The first step of a login with a code: the back end sends one to the person, by mail or as a short message.
package struct CodeStep: Equatable, Sendable {
    /// Where the user name goes.
    package var url: String
    /// Members of the answer that go to the login address with the code.
    package var carriedMembers: [String]

    /// Carried members: one names the attempt, and some send another.
    static let mostCarried = 8

    package init(url: String, carriedMembers: [String] = []) {
        self.url = url
        self.carriedMembers = carriedMembers
    }
}

/// What a request to a back end is for.
enum JSONPurpose: Sendable {
    case login
    case refresh
    case logout
}

/// What differs between back ends of kind `json`: names and codes, all of it data.
package struct JSONRules: Equatable, Sendable {
    /// Names of members in requests and answers.
    package struct Fields: Equatable, Sendable {
        package var username = "username"
        package var password = "password"
        /// The code that the back end has sent to the person.
        package var code = "code"
        package var accessToken = "accessToken"
        package var refreshToken = "refreshToken"
        package var expiresIn = "expiresIn"
        package var refreshExpiresIn = "refreshExpiresIn"
        /// What the two lifetimes are counted in.
        package var expiresInUnit = LifetimeUnit.seconds
        /// `true` in any answer ends the session.
        package var requiresReauth = "requiresReauth"

        package init() {}
    }

    package var fields = Fields()
    /// The object that holds the members of an answer; `nil`: the answer itself.
    package var envelope: JSONPath?
    /// The same in the answer to a login, where that is another.
    package var loginEnvelope: JSONPath?
    /// Where the code of an error stands, beside the usual places.
    package var errorCode: JSONPath?
    /// Extra members of token answers that are kept and shown.
    package var keptMembers: [String]
    /// Codes that say: this access token is too old, refresh.
    package var refreshCodes: [String]
    /// Codes that say: the session is over.
    package var logoutCodes: [String]
    /// The same in the answer to a refresh, where one code may mean less than elsewhere; `nil`: ``logoutCodes``.
    package var refreshLogoutCodes: [String]?
    /// Whether a logout sends the refresh token along.
    package var logoutSendsRefreshToken: Bool
    /// Whether the session is over when a token is refused right after a refresh.
    package var endsWithSecondRefusal: Bool

    package init(
        keptMembers: [String],
        refreshCodes: [String],
        logoutCodes: [String],
        logoutSendsRefreshToken: Bool,
        endsWithSecondRefusal: Bool
    ) {
        self.keptMembers = keptMembers
        self.refreshCodes = refreshCodes
        self.logoutCodes = logoutCodes
        self.logoutSendsRefreshToken = logoutSendsRefreshToken
        self.endsWithSecondRefusal = endsWithSecondRefusal
    }

    /// Where answers have their members and what is wrong.
    package var places: JSONResponsePaths {
        JSONResponsePaths(envelope: envelope, errorCode: errorCode, loginDemand: fields.requiresReauth)
    }

    /// ``places`` in the answer to a request of this purpose.
    func places(in purpose: JSONPurpose) -> JSONResponsePaths {
        var places = self.places
        if purpose == .login, let loginEnvelope { places.envelope = loginEnvelope }
        return places
    }

    /// A signaling server's accounts: 15 min of access, 30 days of refresh, rolling.
    package static let signaling = JSONRules(
        keptMembers: ["userId", "deviceId"],
        refreshCodes: ["access_token_expired"],
        logoutCodes: [
            "refresh_token_expired", "token_revoked", "invalid_refresh_token", "invalid_credentials",
        ],
        logoutSendsRefreshToken: false,
        endsWithSecondRefusal: false
    )

    /// An emergency-call app's registered devices.
    package static let ecall = JSONRules(
        keptMembers: ["userId", "deviceId"],
        refreshCodes: ["ErrAccessTokenExpired"],
        logoutCodes: ["ErrRefreshTokenExpired", "ErrDeviceNotRegistered", "unauthorized"],
        logoutSendsRefreshToken: true,
        endsWithSecondRefusal: true
    )

    /// Without a preset: the codes of both.
    package static let common = JSONRules(
        keptMembers: signaling.keptMembers,
        refreshCodes: signaling.refreshCodes + ecall.refreshCodes,
        logoutCodes: signaling.logoutCodes + ecall.logoutCodes,
        logoutSendsRefreshToken: true,
        endsWithSecondRefusal: false
    )
}
