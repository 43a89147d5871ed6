// SPDX-License-Identifier: MIT

import Text

extension ConnectedAgentSocket {
    /// Connects to the socket `path` and no other.
    init(at path: String, _ maximumSilence: Duration) throws(AgentError) {
        try AgentPaths.checkSocketPath(path)
        do {
            try self.init(path: path, timeout: maximumSilence)
        } catch {
            throw AgentError(error)
        }
    }

    /// Connects to the agent of this user, at any of its sockets.
    init(findingAgent maximumSilence: Duration) throws(AgentError) {
        let usual = try AgentPaths.uncheckedSocket()
        let failure: AgentError
        do throws(AgentError) {
            try self.init(at: usual, maximumSilence)
            return
        } catch {
            guard [.noAgent, .denied].contains(error.code), !AgentPaths.namesSocket() else { throw error }
            failure = error
        }
        // From here on, finding the agent matters more than the time limit.
        let path = try ConnectedAgentSocket.otherPath(than: usual, failure, maximumSilence)
        try self.init(at: path, maximumSilence)
    }

    /// Returns another possible socket of this user's agent, after connecting to `usual` has failed with
    /// `failure`.
    ///
    /// - Throws: `failure` if there is no other path.
    private static func otherPath(
        than usual: String,
        _ failure: AgentError,
        _ maximumSilence: Duration
    ) throws(AgentError) -> String {
        // The runtime directory may be missing or belong to another user.
        let checked = try AgentPaths.socket()
        guard failure.code == .noAgent || checked != usual else { throw failure }
        if let state = try? AgentPaths.stateDirectory(AgentPaths.variable),
            let noted = StoreLockFile(of: state)?.note?.socket, noted != usual, noted != checked,
            try isAgent(of: state, at: noted, maximumSilence)
        {
            return noted
        }
        guard checked != usual else { throw failure }
        return checked
    }

    /// Returns whether the agent that uses the store in `state` answers at `path`.
    ///
    /// The path in the lock file may be outdated, and another agent be there.
    private static func isAgent(
        of state: String,
        at path: String,
        _ maximumSilence: Duration
    ) throws(AgentError) -> Bool {
        do throws(AgentError) {
            var connection = try AgentConnection(socket: path, maximumSilence: maximumSilence)
            let response = try connection.exchange(AgentRequest(.get), timeout: maximumSilence)
            return AgentMessage(parsing: response.body)?.store.map { PrivateDirectory.isSame($0, state) }
                == true
        } catch {
            guard [.noAgent, .denied, .misconfigured].contains(error.code) else { throw error }
            return false
        }
    }

    /// Checks on another connection whether the agent is alive, within `limit`, a part of `whole`.
    ///
    /// - Returns: `false` if the socket is gone, or another process listens there: an agent that stops, or
    ///   that another one replaces, gives up its socket before its last responses.
    /// - Throws: ``ConnectionFailure/silent(socket:limit:)`` if the agent listens but does not respond.
    borrowing func isAlive(within limit: Duration, of whole: Duration) throws(ConnectionFailure) -> Bool {
        let deadline = Deadline(after: limit)
        do throws(ConnectionFailure) {
            let socket = try ConnectedAgentSocket(path: path, timeout: limit)
            guard socket.server == server else { return false }
            try unsafe socket.send(Array(AgentRequest(.get).head.utf8).span.bytes)
            guard try socket.hasBytes(by: deadline) else { throw .silent(socket: path, limit: whole) }
            return true
        } catch .unreachable {
            return false
        } catch .silent {
            throw .silent(socket: path, limit: whole)
        }
    }
}
