// SPDX-License-Identifier: MIT

import Glibc
import Text
import TokenCore

/// A further socket, for the tokens of some sessions alone: to be forwarded, to be put into a container, or
/// to be shared with another user on purpose.
package struct RestrictedSocket: Equatable, Sendable {
    package var path: String
    package var sessions: Set<SessionName>
    /// Scopes that a request for a token may name; empty: only what the login was granted as a whole.
    package var scopes: Set<ByteText>
    /// Audiences that a request for a token may name.
    package var audiences: Set<ByteText>
    /// Permission bits of the socket's file.
    package var mode: mode_t
    /// The group of the socket's file; `nil`: the process's own.
    package var group: gid_t?
    /// Users beside our own who may connect.
    package var users: Set<uid_t>
    /// Whether each peer is given the bare token of the one session, without a request.
    package var writesToken: Bool

    package init(
        path: String,
        sessions: Set<SessionName>,
        scopes: Set<ByteText> = [],
        audiences: Set<ByteText> = [],
        mode: mode_t = 0o600,
        group: gid_t? = nil,
        users: Set<uid_t> = [],
        writesToken: Bool = false
    ) {
        self.path = path
        self.sessions = sessions
        self.scopes = scopes
        self.audiences = audiences
        self.mode = mode
        self.group = group
        self.users = users
        self.writesToken = writesToken
    }

    /// The session whose token every peer is given without a request; `nil`: peers send requests.
    var unaskedSession: SessionName? { writesToken ? sessions.first : nil }

    /// What decides about the socket's file and its language; if it changes, the socket is opened anew.
    struct File: Equatable {
        var path: String
        var mode: mode_t
        var group: gid_t?
        var writesToken: Bool
    }

    var file: File { File(path: path, mode: mode, group: group, writesToken: writesToken) }
}
