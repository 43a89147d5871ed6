// SPDX-License-Identifier: MIT

/// A warning for the user about a token response whose tokens are served anyway.
package struct GrantWarning: Equatable, Sendable {
    /// A stable word for programs.
    package enum Kind: String, CaseIterable, Sendable {
        /// The token lacks requested scopes (RFC 6749 §3.3).
        case scopeNotGranted = "scope_not_granted"
        /// The token is not for the requested audience (RFC 8707 §2).
        case audienceIgnored = "audience_ignored"
        /// The response's ID token failed validation. The earlier one remains in use (OIDC Core §12.2).
        case idTokenDropped = "id_token_dropped"
        /// The token response is malformed, but its tokens are unambiguous.
        case responseDamaged = "response_damaged"
        /// The tokens were found in a token response that is not JSON.
        case responseSalvaged = "response_salvaged"
        /// The token response names an impossible lifetime.
        case lifetimeIgnored = "lifetime_ignored"
        /// The server accepts the client secret only in the request body, not by HTTP Basic (RFC 6749
        /// §2.3.1).
        case clientSecretInBody = "client_secret_in_body"
        /// The response had no ID token, so nothing about the account was verified.
        case accountUnknown = "account_unknown"
        /// The other hosts of the fleet do not have the login yet.
        case notShared = "not_shared"
    }

    package var kind: Kind
    /// One sentence without a full stop, printable and without secrets.
    package var message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = ServerText.cleaned(message)
    }

    /// Returns a warning about requested scopes that were not granted.
    ///
    /// `openid` and `offline_access` request protocol features, not access. Many servers that honor them do
    /// not repeat them, so the tokens that they request count instead.
    ///
    /// - Parameters:
    ///   - asked: the requested scopes, in the configuration's order.
    ///   - granted: the scopes that the server names. If empty, they are unknown and there is no warning.
    ///   - hasIDToken: whether the response contained an ID token.
    ///   - hasRefreshToken: whether the response contained a refresh token.
    ///   - isNew: whether the login has just been made, so that it requested all of `asked`.
    /// - Returns: the warning, or `nil` if no scope is missing.
    package static func scopes(
        asked: [String],
        granted: [String],
        hasIDToken: Bool,
        hasRefreshToken: Bool,
        isNew: Bool = false
    ) -> GrantWarning? {
        guard !granted.isEmpty else { return nil }
        let known = Set(granted.map { Array($0.utf8) })
        let missing = asked.filter { scope in
            switch scope {
            case "openid" where hasIDToken, "offline_access" where hasRefreshToken: false
            default: !known.contains(Array(scope.utf8))
            }
        }
        guard !missing.isEmpty else { return nil }
        let names = missing.joined(separator: ", ")
        return GrantWarning(
            .scopeNotGranted,
            isNew
                ? "the server did not grant the scopes \(names)"
                : "the login lacks the configured scopes \(names): "
                    + "the server has not granted them, or they are newer than the login"
        )
    }
}
