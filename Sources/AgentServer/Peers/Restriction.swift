// SPDX-License-Identifier: MIT

import TokenCore

/// What limits a connection to the tokens of some sessions.
enum Restriction: Equatable, Sendable {
    /// The `[[socket]]` at this path, as it is configured when a request comes.
    case socket(path: String)
    /// What the peer has asked for, which lends the connection to another host.
    case forwarding(ForwardingRestriction)

    /// What keeps the peers limited by it apart from others, and tells them in the log.
    ///
    /// A path begins with a slash, so no two have the same name.
    var name: String {
        switch self {
        case .socket(let path): path
        case .forwarding(let forwarding): "ssh \(forwarding.host)"
        }
    }
}
