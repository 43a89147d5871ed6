// SPDX-License-Identifier: MIT

/// The means by which a session obtains its next access token.
package enum RenewalMethod: Equatable, Sendable {
    /// Present this refresh token (RFC 6749 §6).
    case refreshToken(SecretID)
    /// Obtain a token without a refresh token and without a login.
    ///
    /// The request uses the client's own credentials (RFC 6749 §4.4), an assertion, another session's token,
    /// a command or a key. No login can be lost, and nothing is stored.
    case withoutLogin
    /// The server issued no refresh token, so the session ends with its access token.
    case impossible
    /// The keepers of a fleet have the refresh token, and this host asks them (``SessionPolicy/isReader``).
    case byKeepers

    /// The refresh token, or `nil` if this is another method.
    package var refreshToken: SecretID? {
        if case .refreshToken(let secret) = self { secret } else { nil }
    }
}
