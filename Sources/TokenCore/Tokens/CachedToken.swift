// SPDX-License-Identifier: MIT

/// The login's own token, and how long a session answers plain requests with it and does nothing else.
package struct CachedToken: Equatable, Sendable {
    package let token: AccessToken
    /// From this moment on the session has to be asked.
    package let until: Instant
}
