// SPDX-License-Identifier: MIT

/// The ability of several tokens of one login to be valid at the same time, learned from the server's
/// behavior.
///
/// Some authorization servers allow one valid access token for each login. A new token, even of another
/// scope, ends the earlier ones.
package enum TokenCoexistence: UInt8, Sendable {
    /// Not known yet. After a new token, the others are refreshed at the next request for them.
    case unknown = 0
    /// A token that was served after a newer one had been issued was not rejected.
    case proven = 1
    /// A token that was served after a newer one had been issued was rejected.
    case disproven = 2
}
