// SPDX-License-Identifier: MIT

import DemoIssuer
import StrictJSON
import TestSupport
import Testing

/// A small file system in memory, mounted for one test.
private final class SmallDisk {
    let directory: TemporaryDirectory

    init(kilobytes: Int) async throws {
        directory = try TemporaryDirectory()
        let result = try await Self.run(
            ["mount", "-t", "tmpfs", "-o", "size=\(kilobytes)k,mode=0700", "tokenagent-test", directory.path]
        )
        try #require(result.status == 0, "\(result.standardError)")
    }

    func unmount() async throws {
        _ = try await SmallDisk.run(["umount", "-l", directory.path])
    }

    static func run(_ command: [String]) async throws -> ProgramResult {
        try await Program.run(command, environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"])
    }

    /// Writes until nothing fits.
    func fill() async throws {
        _ = try await SmallDisk.run(["sh", "-c", "cat /dev/zero >'\(directory.path)/filler'; :"])
    }

    func makeRoom() {
        File.remove(directory.path("filler"))
    }

    /// Whether this user may mount here: only root may, and not everywhere.
    @Sendable static func isPossible() async -> Bool {
        guard TestUser.isRoot, let disk = try? await SmallDisk(kilobytes: 64) else { return false }
        try? await disk.unmount()
        return true
    }
}

extension EndToEnd {
    @Suite(.enabled("file systems can only be mounted by root", SmallDisk.isPossible))
    struct DiskTests {
        private func withScene(_ body: (Scene, SmallDisk) async throws -> Void) async throws {
            let disk = try await SmallDisk(kilobytes: 4096)
            do {
                let scene = try await Scene.loggedIn({ $0.rotation = .strict }, in: disk.directory.path)
                try await body(scene, disk)
                try await scene.agent.end()
            } catch {
                try await disk.unmount()
                throw error
            }
            try await disk.unmount()
        }

        @Test func `with a full disk the refresh token is not sent, and sent again when there is room`()
            async throws
        {
            try await withScene { scene, disk in
                let token = try await scene.token()
                try await disk.fill()
                let result = try await scene.agent.socket.request(
                    "POST",
                    "/v1/sessions/work/refresh?timeout=1"
                )
                #expect(result.status == 503, "\(result.text)")
                #expect(scene.refreshes == 0)
                #expect(
                    try await scene.agent.socket.request("GET", "/v1/sessions/work/token").json?[
                        "access_token"
                    ]?.string == token
                )
                #expect(try await scene.agent.status("work")["last_error"]?.object?["class"] == "storage")
                disk.makeRoom()
                #expect(
                    try await scene.agent.socket.request("POST", "/v1/sessions/work/refresh").status == 200
                )
                #expect(scene.refreshes == 1)
            }
        }

        @Test func `a disk that fills up during the request costs nothing`() async throws {
            try await withScene { scene, disk in
                scene.issuer.queue(Disturbance(isHeld: true))
                let refresh = Task {
                    try await scene.agent.socket.request("POST", "/v1/sessions/work/refresh")
                }
                #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(20)))
                try await disk.fill()
                scene.issuer.release()
                #expect(try await refresh.value.status == 200)
                try await scene.agent.kill()
                disk.makeRoom()
                try await scene.agent.start()
                #expect(
                    try await scene.agent.socket.request("POST", "/v1/sessions/work/refresh").status == 200
                )
                #expect(try await scene.agent.status("work")["state"] == "ready")
            }
        }
    }
}
