// SPDX-License-Identifier: MIT

import TokenCore

/// The format of what a socket sends to a peer (`answer`).
package enum SocketResponseFormat: String, CaseIterable, Sendable {
    /// HTTP responses to requests.
    case http
    /// The bare token, without a request.
    case token
}

/// One `[[socket]]`: an additional socket that serves only tokens of some sessions.
package struct RestrictedSocketSettings: Equatable, Sendable {
    /// The absolute path.
    package var path: String
    package var sessions: [SessionName]
    /// The scopes for which tokens may be requested, in addition to the plain token.
    package var scopes: [String]
    /// The audiences for which tokens may be requested.
    package var audiences: [String]
    /// The permission bits of the socket.
    package var mode: UInt32
    /// The gid of the socket.
    package var group: UInt32?
    /// The uids of other users who may connect.
    package var users: [UInt32]
    package var answer: SocketResponseFormat

    init(
        path: String,
        sessions: [SessionName],
        scopes: [String] = [],
        audiences: [String] = [],
        mode: UInt32,
        group: UInt32?,
        users: [UInt32],
        answer: SocketResponseFormat = .http
    ) {
        self.path = path
        self.sessions = sessions
        self.scopes = scopes
        self.audiences = audiences
        self.mode = mode
        self.group = group
        self.users = users
        self.answer = answer
    }
}
