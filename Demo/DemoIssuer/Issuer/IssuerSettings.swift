// SPDX-License-Identifier: MIT

import Text

/// The behavior of the issuer.
///
/// A change takes effect with the next request.
package struct IssuerSettings: Sendable {
    /// The treatment of the refresh token at a refresh.
    package enum Rotation: Equatable, Sendable {
        /// The refresh token does not change, and the response contains none.
        case none
        /// Each refresh returns a new token.
        ///
        /// Using an old one again revokes the whole family (RFC 9700 §4.14.2).
        case strict
        /// Like `strict`, but an old token still works for this long after its first use.
        case grace(Duration)
    }

    package enum AccessTokenFormat: String, Sendable {
        /// A JWT (RFC 9068).
        case jwt
        case opaque
    }

    /// The response of the authorization endpoint.
    package enum Authorization: Equatable, Sendable {
        case approve
        /// Redirects back with this error (RFC 6749 §4.1.2.1).
        case deny(error: String)
        /// Approves with another `iss` in the response, or with none (RFC 9207).
        case approveAs(issuer: String?)
    }

    package enum RefreshTokens: Sendable {
        case always
        /// Issued only if `offline_access` was granted (OIDC Core §11).
        case withOfflineAccess
        case never
    }

    /// The treatment of proofs of possession (RFC 9449).
    package enum DPoPDemand: String, CaseIterable, Sendable {
        /// `DPoP` headers are ignored.
        case off
        /// A proof binds the tokens to its key.
        ///
        /// Without a proof the tokens are not bound.
        case allowed
        /// Tokens are issued only with a proof.
        case required
    }

    package var accessLifetime: Duration = .seconds(20)
    /// The lifetime of refresh tokens, or `nil` if they do not expire.
    package var refreshLifetime: Duration?
    package var rotation = Rotation.none
    package var dpop = DPoPDemand.off
    /// Whether a proof must contain the newest nonce (RFC 9449 §8).
    package var demandsDPoPNonce = false
    /// Whether every proof is rejected with a new nonce, whatever nonce it contains.
    package var refusesEveryNonce = false
    /// Whether a valid proof is accepted but the access token is not bound and has the type `Bearer`.
    package var ignoresProofs = false
    /// Whether authorization requests must be pushed (RFC 9126 §5).
    package var requiresPushedRequests = false
    /// The delay of every response outside of `/_control/`.
    package var delay: Duration = .zero
    package var accessTokenFormat = AccessTokenFormat.jwt
    package var authorization = Authorization.approve
    package var refreshTokens = RefreshTokens.always
    /// Whether token responses contain `expires_in`.
    package var tellsExpiry = true
    /// Whether token responses contain `refresh_expires_in`.
    package var tellsRefreshExpiry = false
    /// Whether a refresh response without rotation repeats the refresh token.
    package var repeatsRefreshToken = false
    /// Whether refresh responses contain an ID token.
    package var refreshBringsIDToken = false
    /// The interval between two polls of the device flow, in seconds (RFC 8628 §3.2).
    package var deviceInterval: Int64 = 1
    package var deviceLifetime: Duration = .seconds(600)
    /// Whether a device code is approved at its first poll, as if by a user.
    package var approvesDevices = false
    /// The scopes that can be granted.
    ///
    /// Others are omitted from the response.
    package var knownScopes: Set<String> = [
        "openid", "profile", "email", "offline_access", "api", "read", "write",
    ]
    /// The audiences rejected with `invalid_target` (RFC 8707 §2).
    package var refusedAudiences: Set<String> = []
    /// The members that replace those of the discovery document.
    ///
    /// `null` removes a member.
    package var metadata = JSONObject()
    /// The claims that replace those of ID tokens.
    ///
    /// `null` removes a claim.
    package var idTokenClaims = JSONObject()
    /// The header members that replace those of ID tokens.
    package var idTokenHeader = JSONObject()

    package init() {}
}
