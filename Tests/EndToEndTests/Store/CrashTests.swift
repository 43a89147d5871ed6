// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    @Suite(.full) struct CrashTests {
        /// ABRT, SEGV, QUIT, BUS, ILL, TRAP, FPE, SYS.
        private static let crashes: [Int32] = [6, 11, 3, 7, 4, 5, 8, 31]
        /// Asks Swift's runtime for all it can tell.
        private static let curiosity = [
            "SWIFT_BACKTRACE": "enable=yes,color=no,threads=all,registers=all,sanitize=no,limit=1000"
        ]

        @Test(.holds("25", "26"), arguments: StartMode.allCases)
        func `a crashing agent leaves no core and prints no memory`(mode: StartMode) async throws {
            for signal in Self.crashes {
                let scene = try await Scene()
                let (program, agent) = try await mode.start(
                    scene,
                    prelude: "ulimit -c unlimited",
                    extraEnvironment: Self.curiosity
                )
                try await scene.logIn()
                try await crash(agent, with: signal, scene, program)
                // What an agent ran around: it ends by itself only when its own work is done.
                _ = Program.succeeds("pkill -KILL -f 'tail -f /dev/null' -P \(program.pid)")
                program.signal(.kill)
            }
        }

        @Test(.holds("25", "26")) func `a crashing client leaves no core and prints no memory`() async throws
        {
            let scene = try await Scene.loggedIn()
            for signal in Self.crashes {
                let command = "exec tokenctl exec work -- sh -c 'echo ready; exec tail -f /dev/null'"
                let client = try Program(
                    ["/bin/sh", "-c", "cd \"$HOME\"; ulimit -c unlimited; \(command)"],
                    environment: scene.agent.environment.merging(Self.curiosity) { $1 },
                    hasTerminal: false
                )
                _ = try await client.outputLine(containing: "ready")
                let child = try #require(
                    File.text("/proc/\(client.pid)/task/\(client.pid)/children")?.split(separator: " ").first
                )
                try await crash(client.pid, with: signal, scene, client)
                // Some of these signals reach it as well.
                _ = Program.succeeds("kill -KILL \(child)")
            }
        }

        /// Lets `pid` crash and looks at what it left and what `program` printed.
        private func crash(_ pid: Int32, with signal: Int32, _ scene: Scene, _ program: Program) async throws
        {
            let limits = try #require(File.text("/proc/\(pid)/limits"))
            let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
            #expect(core?.split(separator: " ").filter { $0 == "0" }.count == 2)
            #expect(Program.succeeds("kill -\(signal) \(pid)"))
            #expect(try await Polling.until { hasEnded(pid) })
            #expect(!scene.agent.home.names().contains { $0.hasPrefix("core") })
            let words = ["0x", "rip", "rash", "Register", "Thread 0", "acktrace", "*** "]
            let said = program.standardError
            #expect(!words.contains { said.contains($0) }, "\(signal): \(said)")
        }

        private func hasEnded(_ pid: Int32) -> Bool {
            guard let status = File.text("/proc/\(pid)/status") else { return true }
            return status.contains("State:\tZ")
        }
    }
}
