// SPDX-License-Identifier: MIT

import TokenCore

/// The restriction of a connection to the tokens of some sessions.
enum ConnectionRestriction: Equatable, Sendable {
    /// A restriction to the `[[socket]]` at this path, as configured at the time of a request.
    case socket(path: String)
    /// A restriction that the peer has requested before it lets another host use the connection.
    case forwarding(ForwardingRestriction)

    /// A name that identifies the peers with this restriction, also in the log.
    ///
    /// A path begins with a slash, so no two restrictions have the same name.
    var name: String {
        switch self {
        case .socket(let path): path
        case .forwarding(let forwarding): "ssh \(forwarding.host)"
        }
    }
}
