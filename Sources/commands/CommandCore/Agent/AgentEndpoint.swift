// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// The address of the agent for a command, and whether the command may start it.
package struct AgentEndpoint: Equatable, Sendable {
    /// The path from `--socket`, which overrides the environment.
    package var socket: String?
    package var mayStartAgent: Bool
    /// The maximum time to wait for an agent that sends nothing.
    package var maximumSilence = AgentConnection.maximumSilence

    package init(socket: String? = nil, mayStartAgent: Bool = true) {
        self.socket = socket
        self.mayStartAgent = mayStartAgent
    }

    /// Connects to the agent, and starts one if none is running and that is allowed.
    ///
    /// - Throws: ``AgentError`` with the code `noAgent` if no agent responds or can be started, or
    ///   `badRequest` if the path from `--socket` cannot be made absolute.
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
            // The running agent of this store may use another socket than the one given.
            guard error.code == .noAgent, let complaint else { throw error }
            var remedy = error.remedy
            if socket != nil {
                remedy = .retry("without --socket")
            } else if AgentPaths.namesSocket() {
                remedy = .run("unset TOKENAGENT_SOCK")
            }
            throw AgentError(.noAgent, "\(error.message) (\(complaint))", remedy: remedy)
        }
    }

    /// Connects to a running agent, or returns `nil` if none responds; never starts one.
    ///
    /// A killed agent may still accept a connection, because the kernel closes its descriptors one by one. So
    /// one request is exchanged first.
    package func connectIfThere() -> AgentConnection? {
        guard
            var connection = try? AgentConnection(socket: explicitSocket, maximumSilence: maximumSilence),
            (try? connection.exchange(AgentRequest(.get), timeout: maximumSilence)) != nil
        else { return nil }
        return connection
    }

    /// Connects, sends one request and parses the JSON object in the response.
    ///
    /// A response without a body is an empty object.
    ///
    /// - Throws: ``AgentError`` of the agent, or with the code `internal` if the body is not a JSON object.
    package func message<Members>(
        _ request: AgentRequest,
        timeout: Duration = .seconds(60)
    ) throws(AgentError) -> WireMessage<Members> {
        try WaitNotice.during(.response) { () throws(AgentError) in
            var agent = try connect()
            return try agent.message(request, timeout: timeout)
        }
    }

    /// Requests a token and waits for it for as long as `tokenRequest` allows.
    package func token(_ tokenRequest: TokenRequest) throws(AgentError) -> AgentToken {
        try WaitNotice.during(.response) { () throws(AgentError) in
            var agent = try waiting(as: tokenRequest).connect()
            return try agent.token(tokenRequest)
        }
    }

    /// Connects and sends one request whose response has no content of interest.
    package func send(_ request: AgentRequest, timeout: Duration = .seconds(60)) throws(AgentError) {
        try WaitNotice.during(.response) { () throws(AgentError) in
            var agent = try connect()
            _ = try agent.exchange(request, timeout: timeout)
        }
    }

    /// Returns this endpoint with the maximum wait that `tokenRequest` allows.
    package func waiting(as tokenRequest: TokenRequest) -> AgentEndpoint {
        var endpoint = self
        endpoint.maximumSilence = tokenRequest.maximumSilence
        return endpoint
    }

    /// The absolute path of the socket of the running agent, or of the agent that would be started.
    package var socketPath: String {
        get throws(AgentError) {
            if let path = try explicitSocket { path } else { try AgentPaths.presentSocket() }
        }
    }

    /// The absolute path from `--socket`, or `nil` if the option is absent.
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
    /// Sends one request and parses the JSON object in the response, which is empty if there is no body.
    ///
    /// - Throws: ``AgentError`` of the agent, or with the code `internal` if the body is not a JSON object.
    package mutating func message<Members>(
        _ request: AgentRequest,
        timeout: Duration
    ) throws(AgentError) -> WireMessage<Members> {
        let body = try exchange(request, timeout: timeout).body
        guard !body.isEmpty else { return WireMessage() }
        // A list of all sessions may hold any number of values.
        let json = try? JSONValue(parsing: body, maximumValues: .max)
        guard let message = json.flatMap({ WireMessage<Members>($0) }) else {
            throw AgentError(.internal, "the agent's response is not a JSON object")
        }
        return message
    }
}
