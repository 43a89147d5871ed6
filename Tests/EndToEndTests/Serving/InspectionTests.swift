// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    @Suite(.enabled(if: OtherUser.canRunPrograms, "only root can become a user who may run our programs"))
    struct InspectionTests {
        private static let permissionDenied: Set<Int32> = [1, 13]

        /// Tries every way to inspect the process `pid` as the agent's user, and returns the error number of each.
        private func looks(into pid: Int32, _ scene: ForeignScene) async throws -> [String: Int32] {
            let files = ["mem", "maps", "environ", "auxv", "smaps", "pagemap", "fd", "map_files"]
            let attempts =
                ["attach=\(pid)", "peek=\(pid)", "take=\(pid)"]
                + files.map { "\($0 == "fd" || $0 == "map_files" ? "list" : "read")=/proc/\(pid)/\($0)" }
            let probe = try await scene.start(
                [BuiltPrograms.directory + "/confinement-probe", "free", "/", "/"] + attempts
            ).finish()
            try #require(probe.status == 0, "\(probe)")
            let pairs = probe.standardOutput.split(separator: "\n").compactMap { line -> (String, Int32)? in
                let words = line.split(separator: " ")
                return words.count == 2 ? Int32(words[1]).map { (String(words[0]), $0) } : nil
            }
            #expect(pairs.count == attempts.count)
            return Dictionary(pairs) { $1 }
        }

        @Test(.holds("24")) func `a program of the same user cannot look into the agent or a client`()
            async throws
        {
            let scene = try await ForeignScene.ready()
            try await scene.logIn()
            let client = try scene.start(
                [
                    BuiltPrograms.client, "exec", "work", "--", "sh", "-c",
                    "echo ready; exec tail -f /dev/null",
                ]
            )
            _ = try await client.outputLine(containing: "ready")
            for pid in [scene.program.pid, client.pid] {
                for (look, answer) in try await looks(into: pid, scene) {
                    #expect(Self.permissionDenied.contains(answer), "\(look) got \(answer)")
                }
            }
            client.signal(.terminate)
            try await client.finish()
            #expect(try await scene.shell("tokenctl get work").status == 0)
        }

        @Test(.holds("24")) func `an ordinary program of the same user can be looked into`() async throws {
            let scene = try await ForeignScene.ready()
            let victim = try scene.start(["tail", "-f", "/dev/null"])
            // Before, the process is the program that changes the user, which cannot be inspected either.
            #expect(try await Polling.until { File.text("/proc/\(victim.pid)/comm") == "tail\n" })
            let refused = try await looks(into: victim.pid, scene).filter {
                Self.permissionDenied.contains($0.value)
            }
            #expect(refused.isEmpty, "\(refused)")
        }

        @Test(
            .holds("24"),
            arguments: [
                ("gdb", "gdb -nx -batch -p PID -ex 'info registers'"), ("strace", "timeout 5 strace -p PID"),
                ("gcore", "gcore -o \"$HOME/core\" PID"),
            ]
        )
        func `the usual debuggers are refused`(tool: String, command: String) async throws {
            guard Program.succeeds("command -v \(tool)") else { try Test.cancel("there is no \(tool)") }
            let scene = try await ForeignScene.ready()
            let line = command.replacing("PID", with: "\(scene.program.pid)")
            let result = try await scene.shell(line)
            let said = result.standardOutput + result.standardError
            #expect(said.contains("Operation not permitted"), "\(said)")
            #expect(!said.contains("rip "), "\(said)")
            #expect(!scene.agent.home.names().contains { $0.hasPrefix("core") })
        }
    }
}
