// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The form of one server's token responses: the names, places and units of their members.
///
/// The default is that of RFC 6749 §5.1 and OpenID Connect, with the names that vendors use for the lifetime
/// of the refresh token.
package struct TokenResponseFormat: Hashable, Sendable {
    /// The names of the members.
    ///
    /// A member without a name is not read.
    package struct MemberNames: Hashable, Sendable {
        package var accessToken = "access_token"
        package var refreshToken = "refresh_token"
        package var idToken: String? = "id_token"
        package var tokenType: String? = "token_type"
        package var scope: String? = "scope"
        package var expiresIn = "expires_in"
        /// The names of the refresh token's lifetime.
        ///
        /// The first one present counts.
        package var refreshExpiresIn = ["refresh_expires_in", "refresh_token_expires_in"]
        /// The names of an expiry time, read if there is no lifetime.
        package var expiry = ["expires_at", "expires"]

        package init() {}

        /// The usual names of JSON back ends, in camel case.
        package static let camelCase = MemberNames(
            accessToken: "accessToken",
            refreshToken: "refreshToken",
            expiresIn: "expiresIn",
            refreshExpiresIn: ["refreshExpiresIn"]
        )

        /// Creates names of a server without OAuth's members.
        package init(
            accessToken: String,
            refreshToken: String,
            idToken: String? = nil,
            tokenType: String? = nil,
            expiresIn: String,
            refreshExpiresIn: [String] = []
        ) {
            self.accessToken = accessToken
            self.refreshToken = refreshToken
            self.idToken = idToken
            self.tokenType = tokenType
            scope = nil
            self.expiresIn = expiresIn
            self.refreshExpiresIn = refreshExpiresIn
            expiry = []
        }

        /// The names of members with a token.
        package var tokens: [String] { [accessToken, refreshToken] + [idToken].compactMap(\.self) }

        /// All names.
        fileprivate var all: [String] {
            tokens + [tokenType, scope].compactMap(\.self) + [expiresIn] + refreshExpiresIn
        }
    }

    /// The value of a member by which a response says that it is not a refusal.
    package struct SuccessMark: Hashable, Sendable {
        package var member: JSONPath
        /// The value, as JSON text.
        package var value: String

        package init(_ member: JSONPath, _ value: String) {
            self.member = member
            self.value = value
        }
    }

    /// The text between two scopes, spelled as in the configuration (RFC 6749 §3.3: a space).
    package enum ScopeSeparator: String, CaseIterable, Sendable {
        case space = " "
        case comma = ","
    }

    package var names: MemberNames
    /// The path of the object that contains the members, or `nil` if the response itself contains them.
    package var envelope: JSONPath?
    /// The ``envelope`` of login responses, or `nil` if it is the same.
    package var loginEnvelope: JSONPath?
    /// The path of the error code in a response, in addition to the usual ones.
    package var errorCode: JSONPath?
    /// The mark of a success, or `nil` if tokens are one.
    package var success: SuccessMark?
    /// The member that ends the session if it is `true` in any response, or `nil` if there is none.
    package var loginDemand: String?
    /// The unit of lifetimes (RFC 6749 §5.1: seconds).
    package var lifetimeUnit = LifetimeUnit.seconds
    /// Whether a lifetime of 0 means that the token does not expire.
    package var zeroMeansNever = false
    /// The lifetime of an access token if the response states none.
    package var assumedLifetime: Duration?
    package var scopeSeparator = ScopeSeparator.space
    /// The members that the session keeps and shows to the user, in addition to the tokens.
    package var keptMembers: [String] = []
    /// Whether the access token itself is prolonged, and so takes the place of a refresh token.
    package var prolongsAccessToken = false

    package init(_ names: MemberNames = MemberNames(), envelope: JSONPath? = nil) {
        self.names = names
        self.envelope = envelope
    }

    /// The form of responses to logins.
    package var ofLogins: TokenResponseFormat {
        var format = self
        format.envelope = loginEnvelope ?? envelope
        return format
    }

    /// The paths of members and errors in a response.
    package var paths: JSONResponsePaths {
        JSONResponsePaths(envelope: envelope, errorCode: errorCode, loginDemand: loginDemand)
    }

    /// Returns the errors that are visible without a response.
    ///
    /// - Parameter requestNames: the names that requests use beside those of responses.
    /// - Returns: each error with its key.
    package func problems(besides requestNames: [String] = []) -> [ServerProfileError] {
        let all = names.all + [loginDemand].compactMap(\.self) + requestNames
        let areAmbiguous = Set(all.map(\.bytewise)).count < all.count || all.contains("")
        return
            (areAmbiguous ? [ServerProfileError("fields", "must be names that differ from each other")] : [])
            + keptMembers.filter(names.tokens.contains).map {
                ServerProfileError("keep", "must not name a token (\($0))")
            }
    }
}
