// SPDX-License-Identifier: MIT

import AgentProtocol
import Testing
import Text

@testable import AgentProtocol

/// The one-line message of an error.
@Suite struct AgentErrorTests {
    @Test(arguments: [
        ("/run/tokenagent/build/agent.sock", "systemctl start tokenagent@build"),
        ("/run/user/1000/tokenagent/agent.sock", "tokenagent"), ("/run/tokenagent/agent.sock", "tokenagent"),
    ])
    func `the agent of a service is started by its unit`(socket: String, command: String) {
        let error = AgentError(ConnectionFailure.unreachable(socket: socket, errno: 2))
        #expect(error.remedy == .run(command))
    }

    @Test(
        arguments: [
            (
                "logged out by the user", .run("tokenctl login work"),
                "logged out by the user (run: tokenctl login work)"
            ),
            ("agent is locked", .run("tokenctl unlock"), "agent is locked (run: tokenctl unlock)"),
            ("no agent", .run("tokenagent"), "no agent (run: tokenagent)"),
            ("It failed.", .retry("in 5s"), "It failed (retry: in 5s)"), ("It failed.", nil, "It failed"),
            ("no hosts", .set("hosts in [session.x]"), "no hosts (set: hosts in [session.x])"),
            ("the server says: wait...", nil, "the server says: wait..."), ("", nil, ""),
        ] as [(String, Remedy?, String)]
    )
    func `the remedy follows the message, as a command if it is one`(
        message: String,
        remedy: Remedy?,
        line: String
    ) {
        #expect(AgentError(.internal, message, remedy: remedy).description == line)
    }
}
