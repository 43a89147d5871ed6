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

    package init(
        path: String,
        sessions: Set<SessionName>,
        scopes: Set<ByteText> = [],
        audiences: Set<ByteText> = [],
        mode: mode_t = 0o600,
        group: gid_t? = nil,
        users: Set<uid_t> = []
    ) {
        self.path = path
        self.sessions = sessions
        self.scopes = scopes
        self.audiences = audiences
        self.mode = mode
        self.group = group
        self.users = users
    }

    /// What decides about the socket's file; if it changes, the socket is opened anew.
    struct File: Equatable {
        var path: String
        var mode: mode_t
        var group: gid_t?
    }

    var file: File { File(path: path, mode: mode, group: group) }
}
