// SPDX-License-Identifier: MIT

import DemoIssuer
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Limits on the size of files (`ulimit -f`), at which a write ends a program with a signal by default.
    @Suite struct FileLimitTests {
        @Test(
            .holds("57"),
            .enabled(if: TestUser.isRoot, "only root may raise the limits of another process again")
        )
        func `an agent whose files may not grow serves on, sends no refresh token, and recovers`()
            async throws
        {
            let scene = try await Scene.loggedIn(more: "[agent]\nget_timeout = \"2s\"")
            let token = try await scene.token()
            let agent = try #require(SocketOwner.pid(scene.agent.socketPath))
            try await limit(agent, to: "0")
            let refused = try await scene.agent.socket.request("POST", "/v1/sessions/work/refresh")
            #expect(refused.status == 503, "\(refused.text)")
            #expect(scene.refreshes == 0)
            #expect(try await scene.token() == token)
            try await limit(agent, to: "unlimited")
            #expect(try await Polling.until(within: .seconds(60)) { scene.refreshes == 1 })
            #expect(try await scene.agent.reaches("ready", "work"))
        }

        @Test func `an agent started where no file may be written says so`() async throws {
            let scene = try await Scene()
            let lines = try await lines(of: "tokenagent --foreground", in: scene)
            #expect(lines.count == 2 && lines.last == "status 1", "\(lines)")
            #expect(lines.first?.hasPrefix("tokenagent: ") == true, "\(lines)")
        }

        @Test func `a program that needs a token file is not started where none may be written`() async throws
        {
            let scene = try await Scene.loggedIn()
            let lines = try await lines(of: "tokenctl exec work -- echo started", in: scene)
            #expect(lines.count == 2 && lines.last == "status 1", "\(lines)")
            #expect(lines.first?.contains("File too large") == true, "\(lines)")
            // The program's own signals are not changed.
            let own = try await scene.agent.tokenctl(
                ["exec", "work", "--", "sh", "-c", "ulimit -f 0; echo x > \"$HOME/file\""]
            )
            #expect(own.status == 128 + SIGXFSZ, "\(own)")
        }

        /// Runs `command` with a file size limit of 0 and returns its output and its status.
        ///
        /// The output goes through a pipe, to which the limit does not apply.
        private func lines(of command: String, in scene: Scene) async throws -> [String] {
            let result = try await scene.agent.shell("(ulimit -f 0; \(command); echo status $?) 2>&1 | cat")
            return result.standardOutput.split(separator: "\n").map(String.init)
        }

        private func limit(_ process: Int32, to size: String) async throws {
            let result = try await Program.run(
                ["prlimit", "--pid=\(process)", "--fsize=\(size):"],
                environment: ["PATH": "/usr/bin:/bin"]
            )
            try #require(result.status == 0, "\(result)")
        }
    }
}
