// SPDX-License-Identifier: MIT

import Glibc
import Text
import TokenCore

/// An additional socket for the tokens of some sessions only.
///
/// Such a socket is forwarded, mounted into a container, or shared with another user on purpose.
package struct RestrictedSocket: Equatable, Sendable {
    package var path: String
    package var sessions: Set<SessionName>
    /// The scopes that a token request may name.
    ///
    /// If empty, tokens have only the scopes of the whole login.
    package var scopes: Set<ByteText>
    /// The audiences that a token request may name.
    package var audiences: Set<ByteText>
    /// The permission bits of the socket's file.
    package var mode: mode_t
    /// The group of the socket's file, or `nil` for the process's group.
    package var group: gid_t?
    /// The IDs of users that may connect in addition to the agent's own.
    package var users: Set<uid_t>
    /// Whether each peer gets the bare token of the one session without a request.
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

    /// The session whose token every peer gets without a request, or `nil` if peers send requests.
    var unaskedSession: SessionName? { writesToken ? sessions.first : nil }

    /// The properties of the socket's file and its protocol.
    ///
    /// If one changes, the socket is recreated.
    struct FileProperties: Equatable {
        var path: String
        var mode: mode_t
        var group: gid_t?
        var writesToken: Bool
    }

    var file: FileProperties {
        FileProperties(path: path, mode: mode, group: group, writesToken: writesToken)
    }
}
