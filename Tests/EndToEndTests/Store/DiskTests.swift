// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

/// A small file system, mounted for one test.
private final class SmallDisk: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case tmpfs
        case ext4
        case xfs
        case btrfs

        /// Makes the file system in `$image`; the sizes are about the least each accepts.
        var make: String {
            switch self {
            case .tmpfs: ""
            case .ext4: "truncate -s 8M $image && mkfs.ext4 -q -m 0 $image"
            case .xfs: "truncate -s 300M $image && mkfs.xfs -q $image"
            case .btrfs: "truncate -s 256M $image && mkfs.btrfs -q -m dup $image"
            }
        }

        /// Makes it and mounts it at `$place`.
        var mount: String {
            self == .tmpfs
                ? "mount -t tmpfs -o size=4m,mode=0700 tokenagent-test $place"
                : "\(make) && mount -o loop $image $place && chmod 700 $place"
        }
    }

    let directory: TemporaryDirectory
    private let image: TemporaryDirectory

    init(_ kind: Kind) async throws {
        directory = try TemporaryDirectory()
        image = try TemporaryDirectory()
        let places = "image='\(image.path)/disk' place='\(directory.path)'; "
        let result = try await SmallDisk.shell(places + kind.mount)
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

    /// Whether the bytes of the device itself hold `text` anywhere, files or not.
    func holds(_ text: String) async throws -> Bool {
        let search = "sync -f '\(directory.path)'; grep -qaF -- '\(text)' '\(image.path)/disk'"
        return try await SmallDisk.shell(search).status == 0
    }

    /// Takes the filler away; btrfs gives its place back with the next flush.
    func makeRoom() async throws {
        File.remove(directory.path("filler"))
        _ = try await SmallDisk.shell("sync -f '\(directory.path)'")
    }

    /// What can be mounted here: only root may, and not everywhere.
    static let possible: [Kind] = Kind.allCases.filter { kind in
        TestUser.isRoot
            && Program.succeeds(
                """
                base=$(mktemp -d) && mkdir $base/place && image=$base/disk place=$base/place
                { \(kind.mount); } && umount $place; status=$?; rm -rf $base; exit $status
                """
            )
    }

    /// Ends the test case where this kind cannot be mounted.
    static func require(_ kind: Kind) throws {
        guard possible.contains(kind) else {
            try Test.cancel("\(kind.rawValue) cannot be mounted here")
        }
    }
}

extension EndToEnd {
    @Suite(.enabled(if: !SmallDisk.possible.isEmpty, "file systems can only be mounted by root"))
    struct DiskTests {
        private func withScene(
            _ kind: SmallDisk.Kind,
            timeout: String = "2s",
            _ body: (Scene, SmallDisk) async throws -> Void
        ) async throws {
            try SmallDisk.require(kind)
            let disk = try await SmallDisk(kind)
            do {
                let scene = try await Scene.loggedIn(
                    { $0.rotation = .strict },
                    more: "[agent]\nget_timeout = \"\(timeout)\"",
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

        @Test(arguments: SmallDisk.Kind.allCases)
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

        @Test(arguments: SmallDisk.Kind.allCases)
        fileprivate func `a disk that fills up during the request costs nothing`(
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

        @Test(.enabled(if: SmallDisk.possible.contains(.ext4), "there is no loop device"))
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
