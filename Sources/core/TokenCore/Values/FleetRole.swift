// SPDX-License-Identifier: MIT

/// The permission of a host to use the session's refresh tokens, spelled as in the configuration and in key
/// files.
package enum FleetRole: String, CaseIterable, Sendable {
    /// The host holds and uses refresh tokens.
    case keeper
    /// The host opens access tokens only, and requests new ones from the keepers.
    case reader
}
