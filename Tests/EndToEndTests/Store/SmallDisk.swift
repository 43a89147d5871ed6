// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// A small file system, mounted for one test.
final class SmallDisk: Sendable {
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

        /// Creates the file system and mounts it at `$place`.
        var mount: String {
            self == .tmpfs
                ? "mount -t tmpfs -o size=4m,mode=0700 tokenagent-test $place"
                : "\(make) && mount -o loop $image $place && chmod 700 $place"
        }
    }

    /// Where it is mounted.
    let directory: TemporaryDirectory
    private let image: TemporaryDirectory

    /// Mounts a file system for `body`, or cancels the test case if this kind cannot be mounted.
    static func mounted(_ kind: Kind, _ body: (SmallDisk) async throws -> Void) async throws {
        guard possible.contains(kind) else {
            try Test.cancel("\(kind.rawValue) cannot be mounted here")
        }
        let disk = try await SmallDisk(kind)
        do {
            try await body(disk)
        } catch {
            try await disk.unmount()
            throw error
        }
        try await disk.unmount()
    }

    private init(_ kind: Kind) async throws {
        directory = try TemporaryDirectory()
        image = try TemporaryDirectory()
        let places = "image='\(image.path)/disk' place='\(directory.path)'; "
        let result = try await SmallDisk.shell(places + kind.mount)
        try #require(result.status == 0, "\(result.standardError)")
    }

    private func unmount() async throws {
        _ = try await SmallDisk.shell("umount '\(directory.path)' || umount -l '\(directory.path)'")
    }

    private static func shell(_ script: String) async throws -> ProgramResult {
        try await Program.run(
            ["/bin/sh", "-c", script],
            environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
        )
    }

    /// Fills the file system, in smaller and smaller pieces.
    func fill() async throws {
        let file = directory.path("filler")
        _ = try await SmallDisk.shell(
            """
            cat /dev/zero >'\(file)'; sync '\(file)'
            for size in 4096 512 1; do dd if=/dev/zero bs=$size >>'\(file)'; sync '\(file)'; done
            """
        )
    }

    /// Returns `true` if `text` is anywhere on the device, inside or outside of files.
    func holds(_ text: String) async throws -> Bool {
        let search = "sync -f '\(directory.path)'; grep -qaF -- '\(text)' '\(image.path)/disk'"
        return try await SmallDisk.shell(search).status == 0
    }

    /// Removes the filler.
    ///
    /// btrfs frees its space with the next flush.
    func makeRoom() async throws {
        File.remove(directory.path("filler"))
        _ = try await SmallDisk.shell("sync -f '\(directory.path)'")
    }

    /// The kinds that can be mounted on this machine, which requires root.
    static let possible: [Kind] = Kind.allCases.filter { kind in
        TestUser.isRoot
            && Program.succeeds(
                """
                base=$(mktemp -d) && mkdir $base/place && image=$base/disk place=$base/place
                { \(kind.mount); } && umount $place; status=$?; rm -rf $base; exit $status
                """
            )
    }
}
