// SPDX-License-Identifier: MIT

/// What a person should know about an answer whose tokens are served all the same.
package struct GrantWarning: Equatable, Sendable {
    /// A stable word for programs.
    package enum Kind: String, CaseIterable, Sendable {
        /// Scopes were asked for that the token does not have (RFC 6749 §3.3).
        case scopeNotGranted = "scope_not_granted"
        /// The token is not for the audience that was asked for (RFC 8707 §2).
        case audienceIgnored = "audience_ignored"
        /// An ID token came and was not believed; the earlier one stays (OIDC Core §12.2).
        case idTokenDropped = "id_token_dropped"
        /// The token response is not as it should be; its tokens are certain all the same.
        case responseDamaged = "response_damaged"
        /// The tokens were found in a token response that is not JSON.
        case responseSalvaged = "response_salvaged"
        /// The lifetime in the token response is none that a token can have.
        case lifetimeIgnored = "lifetime_ignored"
        /// The server takes the client secret in another place than it has to (RFC 6749 §2.3.1).
        case clientSecretInBody = "client_secret_in_body"
        /// No ID token came, so nothing about the account was verified.
        case accountUnknown = "account_unknown"
        /// The other hosts of the fleet do not have the login yet.
        case notShared = "not_shared"
    }

    package var kind: Kind
    /// One sentence without a full stop, printable, no secrets.
    package var message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = ServerText.cleaned(message)
    }

    /// Which of the scopes that were asked for are missing from what was granted.
    ///
    /// `openid` and `offline_access` are protocol, not access: many servers that honour them do not repeat them, so
    /// what they bring is what counts.
    ///
    /// - Parameters:
    ///   - asked: in the configuration's order.
    ///   - granted: as the server names them; empty: not known, so nothing is said.
    ///   - hasIDToken: an ID token came.
    ///   - hasRefreshToken: a refresh token came.
    /// - Returns: what to say, or `nil` when nothing is missing.
    package static func scopes(
        asked: [String],
        granted: [String],
        hasIDToken: Bool,
        hasRefreshToken: Bool
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
        return GrantWarning(
            .scopeNotGranted,
            "the server did not grant \(missing.joined(separator: ", ")), which the configuration asks for"
        )
    }
}
