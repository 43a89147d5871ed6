// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    @Suite(.enabled(if: !SmallDisk.possible.isEmpty, "file systems can only be mounted by root"))
    struct DiskTests {
        private func withScene(
            _ kind: SmallDisk.Kind,
            timeout: String = "2s",
            _ body: (Scene, SmallDisk) async throws -> Void
        ) async throws {
            try await SmallDisk.mounted(kind) { disk in
                let scene = try await Scene.loggedIn(
                    { $0.rotation = .strict },
                    more: "[agent]\nget_timeout = \"\(timeout)\"",
                    in: disk.directory.path
                )
                try await body(scene, disk)
                try await scene.agent.end()
            }
        }

        @Test(.holds("57"), arguments: SmallDisk.Kind.allCases)
        func `with a full disk the refresh token is not sent, and sent again when there is room`(
            kind: SmallDisk.Kind
        )
            async throws
        {
            try await withScene(kind) { scene, disk in
                let token = try await scene.token()
                try await disk.fill()
                let result = try await scene.agent.socket.request(
                    "POST",
                    "/v1/sessions/work/refresh"
                )
                #expect(result.status == 503, "\(result.text)")
                #expect(scene.refreshes == 0)
                #expect(
                    try await scene.agent.socket.request("GET", "/v1/sessions/work/token").json?[
                        "access_token"
                    ]?.string == token
                )
                #expect(try await scene.agent.status("work")["last_error"]?.object?["class"] == "storage")
                let doctor = try await scene.agent.tokenctl("doctor")
                #expect(doctor.standardOutput.contains("store: work: not refreshed: "), "\(doctor)")
                try await disk.makeRoom()
                let start = ContinuousClock.now
                // By itself: nobody asks.
                #expect(try await Polling.until(within: .seconds(60)) { scene.refreshes == 1 })
                let waited = ContinuousClock.now - start
                #expect(try await scene.agent.reaches("ready", "work"))
                #expect(try await scene.token() != token)
                Attachment.record(
                    "\(kind.rawValue): refreshed \(waited) after there was room",
                    named: "figure"
                )
            }
        }

        @Test(.holds("58"), arguments: SmallDisk.Kind.allCases)
        func `a disk that fills up during the request costs nothing`(
            kind: SmallDisk.Kind
        ) async throws {
            // Filling a disk takes its time, and the refresh waits for it.
            try await withScene(kind, timeout: "60s") { scene, disk in
                scene.issuer.queue(Disturbance(isHeld: true))
                let refresh = Task {
                    try await scene.agent.socket.request("POST", "/v1/sessions/work/refresh")
                }
                #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(120)))
                try await disk.fill()
                scene.issuer.release()
                #expect(try await refresh.value.status == 200)
                try await scene.agent.kill()
                try await disk.makeRoom()
                try await scene.agent.start()
                #expect(
                    try await scene.agent.socket.request("POST", "/v1/sessions/work/refresh").status == 200
                )
                #expect(try await scene.agent.status("work")["state"] == "ready")
            }
        }

        @Test(.holds("O22"), .enabled(if: SmallDisk.possible.contains(.ext4), "there is no loop device"))
        func `the raw disk holds no token and no account, in no file and between them`() async throws {
            try await withScene(.ext4) { scene, disk in
                let secrets = try await scene.wholeRun()
                for secret in secrets.union(["alice"]) { #expect(try await !disk.holds(secret), "\(secret)") }
                // What is there is found.
                #expect(try await disk.holds("get_timeout"))
                Attachment.record("0 of \(secrets.count) secrets", named: "figure")
            }
        }
    }
}
