// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Sessions whose tokens a program prints.
    @Suite struct CommandTests {
        /// An agent whose session `tool` runs `script`, with a line in the file `runs` for each run.
        private func agent(_ script: String, more: String = "") async throws -> AgentUnderTest {
            let agent = try AgentUnderTest()
            let path = try agent.home.write(
                "#!/bin/sh\necho run >>'\(agent.home.path("runs"))'\n\(script)\n",
                to: "tool",
                mode: 0o700
            )
            try agent.configure(
                """
                [session.tool]
                kind = "command"
                command = ["\(path)"]
                login_remedy = "az login"
                \(more)

                """
            )
            try await agent.start()
            return agent
        }

        private func runs(_ agent: AgentUnderTest) -> Int {
            (File.text(agent.home.path("runs")) ?? "").split(separator: "\n").count
        }

        @Test(.holds("181")) func `a program's token is fetched once, kept, and served after a restart`()
            async throws
        {
            let agent = try await agent(#"sleep 0.3; echo '{"accessToken":"at-1","expires_in":600}'"#)
            let socket = agent.socket
            let answers = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<50 {
                    group.addTask { try await socket.request("GET", "/v1/sessions/tool/token").text }
                }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(answers.allSatisfy { $0.contains("at-1") }, "\(answers) \(agent.log)")
            #expect(runs(agent) == 1)
            try await agent.kill()
            try await agent.start()
            #expect(try await agent.tokenctl("get", "tool").line == "at-1")
            #expect(runs(agent) == 1)
        }

        @Test func `a bare token lives as long as the table says`() async throws {
            let agent = try await agent("echo at-bare", more: "expires_in = \"2h\"")
            #expect(try await agent.tokenctl("get", "tool", "--min-valid", "1h").line == "at-bare")
        }

        @Test(.holds("181")) func `status 4 is a login elsewhere`() async throws {
            let agent = try await agent("exit 4")
            let result = try await agent.tokenctl("get", "tool")
            #expect(result.status == 4 && result.complainsInOneLine, "\(result)")
            #expect(result.standardError.contains("az login"), "\(result)")
            let login = try await agent.tokenctl("login", "tool")
            #expect(login.status == 2 && login.standardError.contains("az login"), "\(login)")
            // A crowd of programs does not run it again and again.
            for _ in 0..<5 { #expect(try await agent.tokenctl("get", "tool").status == 4) }
            #expect(runs(agent) <= 2)
            try agent.home.write("#!/bin/sh\necho at-2\n", to: "tool", mode: 0o700)
            #expect(try await agent.tokenctl("refresh", "tool").status == 0)
            #expect(try await agent.tokenctl("get", "tool").line == "at-2")
        }

        @Test(
            .holds("181"),
            arguments: [
                "echo 'Enter the password for alice-secret:'", "exit 1", "echo '{}'", "kill -9 $$",
                "head -c 100000 /dev/zero | tr '\\0' a", "echo alice-secret; exit 1",
            ]
        )
        func `a program that does not help is tried again, and what it prints is shown nowhere`(
            script: String
        ) async throws {
            let agent = try await agent(script)
            let result = try await agent.tokenctl("get", "tool")
            #expect(result.status == 5 && result.complainsInOneLine, "\(result)")
            let status = JSONValue.object(try await agent.status("tool")).text
            for text in [result.standardError, status, agent.log] { #expect(!text.contains("alice-secret")) }
            try agent.home.write("#!/bin/sh\necho at-3\n", to: "tool", mode: 0o700)
            #expect(try await agent.tokenctl("refresh", "tool").status == 0)
            #expect(try await agent.tokenctl("get", "tool").line == "at-3")
        }
    }
}
