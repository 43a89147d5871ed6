// SPDX-License-Identifier: MIT

/// The secrets that are kept of an ended login.
enum SecretRetention: Sendable {
    /// Access tokens are kept too. They are served until they expire, or a last attempt needs them.
    case everything
    /// Only the refresh token is kept, unused.
    case refreshToken
    /// No secret is kept, because the server's response was final.
    case nothing
}
