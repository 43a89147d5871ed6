// SPDX-License-Identifier: MIT

import Glibc

/// The mounted file systems, as listed in `/proc/self/mountinfo` (`proc(5)`).
enum MountTable {
    /// The file systems whose locks and flushes depend on another machine.
    private static let networkTypes: Set<String> = [
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "coda", "ceph", "9p", "gfs2", "ocfs2", "fuse.sshfs",
        "fuse.glusterfs", "fuse.s3fs", "fuse.rclone", "fuse.davfs", "davfs",
    ]

    private static let maximumTableSize = 1 << 20

    /// Returns whether `directory` is on a network file system; `false` if that cannot be determined.
    static func isOnNetwork(_ directory: OpenDirectory) -> Bool {
        do throws(StoreFileError) {
            let device = try directory.files.status(of: directory.descriptor).device
            guard let type = type(ofDevice: device, in: try mounts(directory.files)) else { return false }
            return networkTypes.contains(type)
        } catch {
            return false
        }
    }

    /// Returns the file system type in the line whose third field is `major:minor` of `device`.
    static func type(ofDevice device: UInt64, in table: String) -> String? {
        let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
        let minor = device & 0xFF | (device >> 12) & ~0xFF & 0xFFFF_FFFF
        for line in table.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 2, fields[2] == "\(major):\(minor)" else { continue }
            guard let separator = fields.firstIndex(of: "-"), separator + 1 < fields.count else { continue }
            return String(fields[separator + 1])
        }
        return nil
    }

    private static func mounts(_ files: any FileOperations) throws(StoreFileError) -> String {
        let descriptor = try SystemFileOperations.retrying("open") {
            unsafe open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
        }
        let file = OpenFile(descriptor: descriptor, files: files)
        var table: [UInt8] = []
        while table.count < maximumTableSize {
            let piece = try file.read(count: 16_384, at: table.count)
            if piece.isEmpty { break }
            table += piece
        }
        return String(decoding: table, as: UTF8.self)
    }
}
