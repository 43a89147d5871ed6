// SPDX-License-Identifier: MIT

import DemoIssuer
import StrictJSON
import TestSupport
import Testing

/// A small file system, mounted for one test.
private final class SmallDisk: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case tmpfs
        case ext4
    }

    let directory: TemporaryDirectory
    private let image: TemporaryDirectory

    init(_ kind: Kind) async throws {
        directory = try TemporaryDirectory()
        image = try TemporaryDirectory()
        let mount =
            switch kind {
            case .tmpfs: "mount -t tmpfs -o size=4m,mode=0700 tokenagent-test '\(directory.path)'"
            case .ext4:
                """
                truncate -s 8M '\(image.path)/disk' && mkfs.ext4 -q -m 0 '\(image.path)/disk' &&
                    mount -o loop '\(image.path)/disk' '\(directory.path)' && chmod 700 '\(directory.path)'
                """
            }
        let result = try await SmallDisk.shell(mount)
        try #require(result.status == 0, "\(result.standardError)")
    }

    func unmount() async throws {
        _ = try await SmallDisk.shell("umount '\(directory.path)' || umount -l '\(directory.path)'")
    }

    private static func shell(_ script: String) async throws -> ProgramResult {
        try await Program.run(
            ["/bin/sh", "-c", script],
            environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
        )
    }

    /// Writes until nothing fits, in ever smaller pieces.
    func fill() async throws {
        let file = directory.path("filler")
        _ = try await SmallDisk.shell(
            """
            cat /dev/zero >'\(file)'; sync '\(file)'
            for size in 4096 512 1; do dd if=/dev/zero bs=$size >>'\(file)'; sync '\(file)'; done
            """
        )
    }

    func makeRoom() {
        File.remove(directory.path("filler"))
    }

    /// What can be mounted here: only root may, and not everywhere.
    static let possible: [Kind] = Kind.allCases.filter { kind in
        guard TestUser.isRoot else { return false }
        let trial = "d=$(mktemp -d) && mount -t tmpfs none $d && umount $d; s=$?; rmdir $d; exit $s"
        let loop =
            "f=$(mktemp) && truncate -s 1M $f && l=$(losetup -f --show $f) && losetup -d $l; s=$?; rm $f; exit $s"
        let script = kind == .tmpfs ? trial : loop + " && command -v mkfs.ext4"
        return Program.succeeds(script)
    }
}

extension EndToEnd {
    @Suite(.enabled(if: !SmallDisk.possible.isEmpty, "file systems can only be mounted by root"))
    struct DiskTests {
        private func withScene(
            _ kind: SmallDisk.Kind,
            _ body: (Scene, SmallDisk) async throws -> Void
        ) async throws {
            let disk = try await SmallDisk(kind)
            do {
                let scene = try await Scene.loggedIn(
                    { $0.rotation = .strict },
                    more: "[agent]\nget_timeout = \"2s\"",
                    in: disk.directory.path
                )
                try await body(scene, disk)
                try await scene.agent.end()
            } catch {
                try await disk.unmount()
                throw error
            }
            try await disk.unmount()
        }

        @Test(arguments: SmallDisk.possible)
        fileprivate func `with a full disk the refresh token is not sent, and sent again when there is room`(
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
                disk.makeRoom()
                #expect(
                    try await scene.agent.socket.request("POST", "/v1/sessions/work/refresh").status == 200
                )
                #expect(scene.refreshes == 1)
            }
        }

        @Test(arguments: SmallDisk.possible)
        fileprivate func `a disk that fills up during the request costs nothing`(
            kind: SmallDisk.Kind
        ) async throws {
            try await withScene(kind) { scene, disk in
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
