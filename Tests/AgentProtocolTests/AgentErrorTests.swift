// SPDX-License-Identifier: MIT

import Testing

@testable import AgentProtocol

/// What a failure says in one line.
@Suite struct AgentErrorTests {
    @Test(
        arguments: [
            (
                "Logged out by request.", "tokenctl login work",
                "Logged out by request; run: tokenctl login work"
            ),
            ("The agent is locked.", "tokenctl unlock", "The agent is locked; run: tokenctl unlock"),
            ("no agent", "tokenagent", "no agent; run: tokenagent"),
            ("It failed.", "try again in 5s", "It failed; try again in 5s"), ("It failed.", nil, "It failed"),
            ("Use tokenctl aws x.", "tokenctl aws x", "Use tokenctl aws x"),
            ("the server says: wait...", nil, "the server says: wait..."), ("", nil, ""),
        ] as [(String, String?, String)]
    )
    func `the remedy follows the message, as a command if it is one`(
        message: String,
        remedy: String?,
        line: String
    ) {
        #expect(AgentError(.internal, message, remedy: remedy).description == line)
    }
}
