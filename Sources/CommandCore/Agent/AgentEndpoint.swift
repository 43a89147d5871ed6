// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// Which agent a command talks to, and whether it may start it.
package struct AgentEndpoint: Equatable, Sendable {
    /// The path that `--socket` gave, which overrides the environment.
    package var socket: String?
    package var mayStartAgent: Bool
    /// The longest wait for an agent that gives no sign of life.
    package var maximumSilence = AgentConnection.maximumSilence

    package init(socket: String? = nil, mayStartAgent: Bool = true) {
        self.socket = socket
        self.mayStartAgent = mayStartAgent
    }

    /// Connects, starting the agent if none answers.
    package func connect() throws(AgentError) -> AgentConnection {
        let path = try explicitSocket
        do {
            return try AgentConnection(socket: path, maximumSilence: maximumSilence)
        } catch {
            guard error.code == .noAgent, mayStartAgent, AgentStarter.isAllowed else { throw error }
        }
        let complaint = try AgentStarter.start(socket: path)
        do throws(AgentError) {
            return try AgentConnection(socket: path, maximumSilence: maximumSilence)
        } catch {
            // The agent of the store may be at another socket than the one that was named.
            guard error.code == .noAgent, let complaint else { throw error }
            throw AgentError(.noAgent, "\(error.message) (\(complaint))", remedy: error.remedy)
        }
    }

    /// Connects to an agent that answers; nil if none does.
    ///
    /// A killed agent may still take a connection: the kernel closes its descriptors one after the other.
    package func connectIfThere() -> AgentConnection? {
        guard
            var connection = try? AgentConnection(socket: explicitSocket, maximumSilence: maximumSilence),
            (try? connection.exchange(AgentRequest(.get), timeout: maximumSilence)) != nil
        else { return nil }
        return connection
    }

    /// Sends one request and answers the object in its answer.
    ///
    /// An answer without a body is an empty object.
    package func message<Members>(
        _ request: AgentRequest,
        timeout: Duration = .seconds(60)
    ) throws(AgentError) -> WireMessage<Members> {
        var agent = try connect()
        return try agent.message(request, timeout: timeout)
    }

    /// Asks for a token, waiting for it as long as `demand` says.
    package func token(_ demand: TokenRequest) throws(AgentError) -> AgentToken {
        var agent = try waiting(as: demand).connect()
        return try agent.token(demand)
    }

    /// Sends one request whose answer has nothing to say.
    package func send(_ request: AgentRequest, timeout: Duration = .seconds(60)) throws(AgentError) {
        var agent = try connect()
        _ = try agent.exchange(request, timeout: timeout)
    }

    /// This agent, waited for as long as `demand` says.
    package func waiting(as demand: TokenRequest) -> AgentEndpoint {
        var endpoint = self
        endpoint.maximumSilence = demand.maximumSilence
        return endpoint
    }

    /// The absolute path of the socket of a running agent, or of the one that would be started.
    package var socketPath: String {
        get throws(AgentError) {
            if let path = try explicitSocket { path } else { try AgentPaths.presentSocket() }
        }
    }

    /// The absolute path that `--socket` gave.
    private var explicitSocket: String? {
        get throws(AgentError) {
            guard let socket else { return nil }
            guard let path = AbsolutePath.from(socket) else {
                throw AgentError(.badRequest, "--socket is not an absolute path: \(socket)")
            }
            return path
        }
    }
}

extension AgentConnection {
    /// Sends one request and answers the object in its answer, empty if there is no body.
    package mutating func message<Members>(
        _ request: AgentRequest,
        timeout: Duration
    ) throws(AgentError) -> WireMessage<Members> {
        let body = try exchange(request, timeout: timeout).body
        guard !body.isEmpty else { return WireMessage() }
        // A list of all sessions may hold any number of values.
        let json = try? JSONValue(parsing: body, maximumValues: .max)
        guard let message = json.flatMap({ WireMessage<Members>($0) }) else {
            throw AgentError(.internal, "the agent's answer is not a JSON object")
        }
        return message
    }
}
