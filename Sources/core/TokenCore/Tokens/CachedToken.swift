// SPDX-License-Identifier: MIT

/// The login's own token, and the time during which it is served without asking the session.
package struct CachedToken: Equatable, Sendable {
    package let token: AccessToken
    /// The moment from which the session has to be asked.
    package let until: Instant
}
