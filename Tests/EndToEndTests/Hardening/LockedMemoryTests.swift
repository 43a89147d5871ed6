// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Root may lock as much as it likes, so the agent belongs to another user here.
    @Suite(.enabled(if: OtherUser.canRunPrograms, "only root can become a user who may run our programs"))
    struct LockedMemoryTests {
        private func limited(to bytes: Int) -> [String] { ["prlimit", "--memlock=\(bytes):\(bytes)"] }

        private func about(_ scene: ForeignScene) async throws -> JSONObject {
            let answer = try await scene.shell(
                "curl -s --unix-socket '\(scene.agent.socketPath)' http://tokenagent/v1"
            )
            return try #require(try JSONValue(parsing: answer.standardOutput.utf8).object)
        }

        @Test(.holds("33")) func `memory that cannot be locked is told`() async throws {
            let scene = try await ForeignScene.ready(wrapper: limited(to: 0))
            #expect(scene.program.standardError.contains("memory for keys not locked"))
            #expect(try await about(scene)["memory_locked"] == false)
            let doctor = try await scene.shell("tokenctl doctor")
            #expect(doctor.standardOutput.contains("keys are not in locked memory"))
        }

        @Test(.holds("33")) func `an agent that requires locked memory does not start without`() async throws
        {
            let scene = try await ForeignScene(
                wrapper: limited(to: 0),
                more: "[vault]\nrequire_locked_memory = true\n"
            )
            #expect(try await scene.program.finish().status == 2)
            #expect(scene.program.standardError.contains("ulimit -l"))
            #expect(!File.exists(scene.agent.socketPath))
        }

        @Test(.holds("33"), arguments: [16_384, 65_536, 8_388_608])
        func `keys fit into little locked memory`(bytes: Int) async throws {
            let scene = try await ForeignScene.ready(wrapper: limited(to: bytes))
            try await scene.logIn()
            #expect(try await about(scene)["memory_locked"] == true)
            let status = try #require(File.text("/proc/\(scene.program.pid)/status"))
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmLck:") })
            let locked = try #require(line.split(separator: " ").compactMap { Int($0) }.first)
            #expect(locked >= 4 && locked * 1024 <= bytes)
            let doctor = try await scene.shell("tokenctl lock && tokenctl doctor")
            #expect(doctor.standardOutput.contains("ok       memory: "), "\(doctor.standardOutput)")
            Attachment.record("\(locked) KiB locked of \(bytes / 1024)", named: "figure")
        }
    }
}
