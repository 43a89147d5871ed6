// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// Names in paths.
@Suite(.timeLimit(.minutes(10)))
struct SessionNameTests {
    @Test(arguments: [
        ("GET", ""), ("GET", "/token"), ("POST", "/refresh"), ("POST", "/report"), ("POST", "/login"),
        ("POST", "/logout"), ("POST", "/login/1"),
    ])
    func `a name that can be no session's is that of no session`(method: String, rest: String) async throws {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        for name in ["a%20b", String(repeating: "x", count: 65), "%C3%A4", "-a"] {
            let answer = try await peer.exchange(
                method,
                "/v1/sessions/\(name)\(rest)",
                body: method == "POST" ? "{}" : nil
            )
            #expect(answer.status == 404 && answer.body.contains("no session with this name"))
        }
        let other = try await peer.exchange("GET", "/v1/sessions/work/nonsense")
        #expect(other.status == 404 && other.body.contains("path not found"))
        await agent.stop()
    }
}
