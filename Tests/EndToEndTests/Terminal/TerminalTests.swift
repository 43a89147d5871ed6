// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// A user at a terminal, played by a script.
    @Suite struct TerminalTests {
        private func type(_ keys: String, _ scene: Scene) async throws -> TerminalJob {
            try await TerminalJob(
                ["tokenctl", "login", "work", "--flow", "password", "--username", "alice"],
                typing: keys,
                environment: scene.agent.environment
            )
        }

        @Test(.holds("128")) func `a password is typed unseen and used`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let job = try await type(#"alice-password\r"#, scene)
            #expect(job.status == 0, "\(job.text)")
            #expect(job.wasHidden && job.isRestored)
            #expect(!job.text.contains("alice-password"))
            #expect(try await scene.token().isEmpty == false)
        }

        @Test(.holds("128")) func `of a secret pasted with more lines nothing is left for the shell`()
            async throws
        {
            let scene = try await Scene()
            try await scene.agent.start()
            let job = try await type(#"alice-password\rthe rest of it\rand more"#, scene)
            #expect(job.status == 0, "\(job.text)")
            #expect(job.wasHidden && job.isRestored)
            #expect(!job.leavesInput, "\(job.text)")
            #expect(!job.text.contains("alice-password") && !job.text.contains("the rest"))
        }

        /// Keys, and the exit status, negative for a signal.
        @Test(
            .holds("128"),
            arguments: [(#"ali\x03"#, [-2, 130]), (#"\x04"#, [1, 2, 8]), (#"ali\x1c"#, [-3, 131])]
        )
        func `leaving the prompt puts the terminal back`(keys: String, statuses: [Int32]) async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let job = try await type(keys, scene)
            #expect(statuses.contains(job.status), "\(job.text)")
            #expect(job.wasHidden && job.isRestored, "\(job.text)")
            #expect(scene.issuer.requests(to: "/token").isEmpty)
        }

        @Test(.holds("128"))
        func `a stop at the prompt shows the terminal as it was, and the question comes again`()
            async throws
        {
            let scene = try await Scene()
            try await scene.agent.start()
            let job = try await type(#"half\x1a|alice-password\r"#, scene)
            #expect(job.stops == 1, "\(job.text)")
            #expect(job.status == 0, "\(job.text)")
            #expect(job.wasHidden && job.isRestored, "\(job.text)")
            #expect(!job.text.contains("alice-password"))
        }
    }
}
