// SPDX-License-Identifier: MIT

import TokenCore

/// `answer`: what a peer of a socket is given.
package enum SocketResponseFormat: String, CaseIterable, Sendable {
    /// The answers to its requests.
    case http
    /// The bare token, without a request.
    case token
}

/// One `[[socket]]`: a further socket that gives out tokens of some sessions and does nothing else.
package struct SocketSettings: Equatable, Sendable {
    /// Absolute.
    package var path: String
    package var sessions: [SessionName]
    /// Scopes for which tokens may be requested there, beside the plain token.
    package var scopes: [String]
    /// Audiences for which tokens may be requested there.
    package var audiences: [String]
    /// Permission bits of the socket's file.
    package var mode: UInt32
    /// The group of the socket's file, as a number.
    package var group: UInt32?
    /// Users beside our own who may connect, as numbers.
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
