// SPDX-License-Identifier: MIT

import Glibc

/// The identity of a file and its current state.
struct FileIdentity: Hashable, Sendable {
    private let device: dev_t
    private let inode: ino_t
    private let size: off_t
    private let modified: [Int]

    /// The identity of the file without its state, which is unique while the file is open or runs.
    var file: String { "\(device):\(inode)" }

    /// Reads the identity of `path`, relative to `directory` unless it begins with `/`, or returns `nil`.
    init?(at path: String, in directory: Int32 = AT_FDCWD) {
        var status = stat()
        guard unsafe fstatat(directory, path, &status, 0) == 0 else { return nil }
        device = status.st_dev
        inode = status.st_ino
        size = status.st_size
        modified = [
            status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
        ]
    }
}
