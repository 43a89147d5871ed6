// SPDX-License-Identifier: MIT

import Text

/// The endpoints of a mobile back end, with JSON in requests and responses (kind `json`).
package struct JSONBackEnd: Equatable, Sendable {
    /// The login endpoint, or `nil` if the first tokens are imported.
    package var loginURL: String?
    package var refreshURL: String
    /// The logout endpoint, or `nil` if a logout sends nothing to the server.
    package var logoutURL: String?
    package var rules: JSONBackEndDialect
    /// The request that makes the back end send a code to the user, or `nil` if a login sends a password.
    package var codeStep: CodeDeliveryStep?
    package var constants: JSONConstants

    package init(
        loginURL: String?,
        refreshURL: String,
        logoutURL: String?,
        rules: JSONBackEndDialect = JSONBackEndDialect(),
        codeStep: CodeDeliveryStep? = nil,
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

extension JSONBackEnd: ServerKindSettings {
    package var identity: AuthorizationServerIdentity {
        AuthorizationServerIdentity(address: refreshURL)
    }

    package var secretFiles: [(key: String, path: String)] {
        constants.secrets.compactMap { secret in
            if case .file(let path) = secret.source { ("\(secret.key).file", path) } else { nil }
        }
    }

    package var commands: [[String]] {
        constants.secrets.compactMap { secret in
            if case .command(let words) = secret.source { words } else { nil }
        }
    }

    package var endings: [String] { [logoutURL].compactMap(\.self) }

    package var resourceErrors: ResourceErrorRules {
        ResourceErrorRules(
            refreshCodes: rules.refreshCodes,
            logoutCodes: rules.logoutCodes,
            paths: rules.responses.paths,
            endsWithSecondRefusal: rules.endsWithSecondRefusal
        )
    }

    package var secretMembers: [String] { rules.responses.names.tokens + (codeStep?.carriedMembers ?? []) }

    package var harmlessMembers: [String] { [rules.credentials.username] + constants.harmlessNames }
}

/// The request that makes the back end send a code to the user by mail or text message, the first step of a
/// login.
package struct CodeDeliveryStep: Equatable, Sendable {
    /// The URL that the user name is sent to.
    package var url: String
    /// The members of the response that are sent to the login endpoint with the code.
    package var carriedMembers: [String]

    /// The maximum number of ``carriedMembers``.
    ///
    /// One of them identifies the login, and some back ends send another.
    static let maximumCarried = 8

    package init(url: String, carriedMembers: [String] = []) {
        self.url = url
        self.carriedMembers = carriedMembers
    }
}

/// The purpose of a request to a back end.
package enum JSONPurpose: Sendable {
    case login
    case refresh
    case logout
}

/// The names and codes in which back ends of kind `json` differ.
package struct JSONBackEndDialect: Equatable, Sendable {
    /// The names of the JSON members that a login sends.
    package struct CredentialNames: Equatable, Sendable {
        package var username = "username"
        package var password = "password"
        /// The member with the code that the back end has sent to the user.
        package var code = "code"

        package init() {}
    }

    package var credentials = CredentialNames()
    /// The form of responses; requests send the refresh token under the same name.
    package var responses: TokenResponseFormat
    /// The error codes that mean "the access token has expired, refresh it".
    package var refreshCodes: [String]
    /// The error codes that end the session.
    package var logoutCodes: [String]
    /// The error codes that end the session in response to a refresh, or `nil` if they are ``logoutCodes``.
    ///
    /// One code may mean less in such a response than elsewhere.
    package var refreshLogoutCodes: [String]?
    /// Whether a logout sends the refresh token.
    package var logoutSendsRefreshToken: Bool
    /// Whether the session ends if a token is rejected right after a refresh.
    package var endsWithSecondRefusal: Bool

    /// Returns the form of responses to requests of this purpose.
    package func responses(to purpose: JSONPurpose) -> TokenResponseFormat {
        purpose == .login ? responses.ofLogins : responses
    }

    /// Creates the rules for back ends of which nothing is known: the codes of those that are.
    package init() {
        responses = TokenResponseFormat(.camelCase)
        responses.loginDemand = "requiresReauth"
        responses.keptMembers = ["userId", "deviceId"]
        refreshCodes = ["access_token_expired", "ErrAccessTokenExpired"]
        logoutCodes = [
            "refresh_token_expired", "token_revoked", "invalid_refresh_token", "invalid_credentials",
            "ErrRefreshTokenExpired", "ErrDeviceNotRegistered", "unauthorized",
        ]
        logoutSendsRefreshToken = true
        endsWithSecondRefusal = false
    }
}
