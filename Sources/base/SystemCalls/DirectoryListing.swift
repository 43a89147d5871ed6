// SPDX-License-Identifier: MIT

import Glibc

/// The names in a directory.
package enum DirectoryListing {
    /// The reason the names cannot be read.
    package enum Failure: Error, Equatable, Sendable {
        case system(SystemCallError)
        /// The directory contains more than this number of names.
        case tooMany(Int)

        /// The end of a sentence that begins with the directory.
        package var message: String {
            switch self {
            case .system(let error): "cannot be read: \(error.reason)"
            case .tooMany(let maximum): "contains more than \(maximum) files"
            }
        }
    }

    /// Returns the names in the directory at `path`, see ``names(in:atMost:)``.
    package static func names(at path: String, atMost maximum: Int) throws(Failure) -> [String] {
        let opened = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard opened >= 0 else { throw .system(.latest("open")) }
        defer { close(opened) }
        return try names(in: opened, atMost: maximum)
    }

    /// Reads the names in an open directory.
    ///
    /// - Parameters:
    ///   - directory: The descriptor, whose position is not moved.
    ///   - maximum: The maximum number of names.
    /// - Returns: The names without `.` and `..`, in the order of the file system.
    /// - Throws: ``Failure``.
    package static func names(in directory: Int32, atMost maximum: Int) throws(Failure) -> [String] {
        // The stream owns its descriptor. A duplicate would share the position.
        let own = unsafe openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard own >= 0 else { throw .system(.latest("openat")) }
        guard let stream = unsafe fdopendir(own) else {
            let error = SystemCallError.latest("fdopendir")
            close(own)
            throw .system(error)
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        errno = 0
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." {
                guard names.count < maximum else { throw .tooMany(maximum) }
                names.append(name)
            }
            errno = 0
        }
        guard errno == 0 else { throw .system(.latest("readdir")) }
        return names
    }
}
