// SPDX-License-Identifier: MIT

import Text

/// How the issuer behaves; a change counts from the next request on.
package struct IssuerSettings: Sendable {
    /// What happens to the refresh token at a refresh.
    package enum Rotation: Equatable, Sendable {
        /// It stays; the answer holds none.
        case none
        /// A new one each time; a used one shown again ends the whole family (RFC 9700 §4.14.2).
        case strict
        /// As `strict`, but a used one still works for this long after its first use.
        case grace(Duration)
    }

    package enum AccessTokenFormat: String, Sendable {
        /// RFC 9068.
        case jwt
        case opaque
    }

    /// What the authorization endpoint answers.
    package enum Authorization: Equatable, Sendable {
        case approve
        /// Redirects back with this error (RFC 6749 §4.1.2.1).
        case deny(error: String)
        /// Approves with another `iss` in the answer, or with none (RFC 9207).
        case approveAs(issuer: String?)
    }

    package enum RefreshTokens: Sendable {
        case always
        /// Only when `offline_access` was granted (OIDC Core §11).
        case withOfflineAccess
        case never
    }

    /// What the issuer makes of proofs of possession (RFC 9449).
    package enum DPoPDemand: String, CaseIterable, Sendable {
        /// `DPoP` headers mean nothing.
        case off
        /// A proof binds the tokens to its key; without one they are for any bearer.
        case allowed
        /// No tokens without a proof.
        case required
    }

    package var accessLifetime: Duration = .seconds(20)
    /// `nil`: refresh tokens do not expire.
    package var refreshLifetime: Duration?
    package var rotation = Rotation.none
    package var dpop = DPoPDemand.off
    /// Whether a proof must hold the newest nonce handed out (RFC 9449 §8).
    package var demandsDPoPNonce = false
    /// Whether every proof is refused with a fresh nonce, whatever nonce it holds.
    package var refusesEveryNonce = false
    /// Whether a good proof is accepted, yet the access token is for any bearer, with type `Bearer`.
    package var ignoresProofs = false
    /// Whether authorization requests have to be pushed first (RFC 9126 §5).
    package var requiresPushedRequests = false
    /// How long every answer outside `/_control/` is delayed.
    package var delay: Duration = .zero
    package var accessTokenFormat = AccessTokenFormat.jwt
    package var authorization = Authorization.approve
    package var refreshTokens = RefreshTokens.always
    /// Whether token answers hold `expires_in`.
    package var tellsExpiry = true
    /// Whether token answers hold `refresh_expires_in`.
    package var tellsRefreshExpiry = false
    /// Without rotation: whether the refresh answer repeats the refresh token.
    package var repeatsRefreshToken = false
    /// Whether refresh answers hold an ID token.
    package var refreshBringsIDToken = false
    /// Seconds between two polls of the device flow (RFC 8628 §3.2).
    package var deviceInterval: Int64 = 1
    package var deviceLifetime: Duration = .seconds(600)
    /// Approves a device code at its first poll, as if a person had.
    package var approvesDevices = false
    /// Scopes that may be granted; others are left out of the answer.
    package var knownScopes: Set<String> = [
        "openid", "profile", "email", "offline_access", "api", "read", "write",
    ]
    /// Audiences answered with `invalid_target` (RFC 8707 §2).
    package var refusedAudiences: Set<String> = []
    /// Members that replace those of the discovery document; `null` removes one.
    package var metadata = JSONObject()
    /// Claims that replace those of ID tokens; `null` removes one.
    package var idTokenClaims = JSONObject()
    /// Header members that replace those of ID tokens.
    package var idTokenHeader = JSONObject()

    package init() {}
}
