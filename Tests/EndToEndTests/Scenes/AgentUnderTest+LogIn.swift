// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension AgentUnderTest {
    /// Logs in to `session` with alice's password, in the flow of the session.
    func logIn(
        _ session: String = "work",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let result = try await tokenctl(
            ["login", session, "--username", "alice", "--password-stdin"],
            input: "alice-password\n"
        )
        try #require(
            result.status == 0,
            "login failed: \(result.standardError) \(log)",
            sourceLocation: sourceLocation
        )
    }
}
