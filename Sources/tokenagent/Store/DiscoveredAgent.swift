// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import Glibc
import Text

/// An agent that answers at a socket.
struct DiscoveredAgent {
    let socket: String
    let pid: Int32
    let stateDirectory: String

    /// Returns the agent at `socket`, or `nil` if nothing is listening there.
    ///
    /// - Throws: `AgentError` if something other than an agent answers, or the agent does not answer in time.
    static func find(socket: String) throws(AgentError) -> DiscoveredAgent? {
        let response: AgentResponse
        do throws(AgentError) {
            var connection = try AgentConnection(socket: socket)
            response = try connection.exchange(AgentRequest(.get), timeout: .seconds(5))
        } catch {
            guard error.code == .noAgent else { throw error }
            return nil
        }
        guard let answer = AgentMessage(parsing: response.body),
            let pid = answer.pid.flatMap({ Int32(exactly: $0) }),
            let store = answer.store
        else { throw AgentError(.internal, "the server at \(socket) is not tokenagent") }
        return DiscoveredAgent(socket: socket, pid: pid, stateDirectory: store)
    }

    /// Returns the agent at the socket of `places` or, unless that socket was given explicitly, the one that
    /// uses the store.
    private static func find(_ places: AgentLocations) throws(AgentError) -> DiscoveredAgent? {
        if let agent = try find(socket: places.socket) { return agent }
        return places.isSocketNamed ? nil : StoreHolderLookup.agent(of: places.stateDirectory)
    }

    /// Returns whether `directory` is the agent's state directory, perhaps under another path.
    func uses(_ directory: String) -> Bool {
        PrivateDirectory.isSame(directory, stateDirectory)
    }

    /// Stops the agent of `places` and waits until it has ended.
    ///
    /// The request is sent over its socket. An agent that does not respond there gets a signal.
    ///
    /// - Throws: ``StartFailure`` if there is no agent, or it does not end in time.
    static func stop(_ places: AgentLocations) throws(StartFailure) {
        let process: Int32?
        do throws(AgentError) {
            process = try askToStop(places)
        } catch {
            guard error.code == .temporarilyUnavailable,
                UnresponsiveAgent.end(socket: places.socket, places.stateDirectory)
            else { throw StartFailure(error) }
            return
        }
        if let process {
            throw StartFailure(.temporarilyUnavailable, "the agent (process \(process)) is still stopping")
        }
    }

    /// Requests the agent's shutdown and waits for its end.
    ///
    /// - Returns: The process number if the agent has agreed but not ended in time, otherwise `nil`.
    private static func askToStop(_ places: AgentLocations) throws(AgentError) -> Int32? {
        guard let agent = try find(places) else {
            throw AgentError(.noAgent, "no agent is running at \(places.socket)")
        }
        // Opened now, while the process number certainly belongs to the agent that answered.
        let process = hardening_open_process(agent.pid)
        defer { if process >= 0 { close(process) } }
        var connection = try AgentConnection(socket: agent.socket)
        _ = try connection.exchange(AgentRequest(.post, "shutdown"), timeout: .seconds(5))
        return waitForEnd(of: process) ? nil : agent.pid
    }

    /// The maximum wait in milliseconds, longer than an agent lets a refresh in flight finish.
    private static let timeout: Int32 = 30_000

    private static func waitForEnd(of process: Int32) -> Bool {
        guard process >= 0 else { return true }
        var event = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&event, 1, timeout) == 1
    }
}
