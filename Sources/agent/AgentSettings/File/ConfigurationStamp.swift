// SPDX-License-Identifier: MIT

import Glibc

/// The inodes, sizes and times of the configuration file, its directory, and the files in `sessions.d`.
///
/// Two different stamps show a change without reading the files. They detect an editor that overwrites a file
/// as well as one that replaces it.
package struct ConfigurationStamp: Equatable, Sendable {
    /// The identity, size and times of one file or directory.
    private struct Mark: Equatable {
        var device: UInt64
        var number: UInt64
        var size: Int64
        var changed: [Int]

        /// Reads the status of `path`, or returns `nil` if there is no file or it is not accessible.
        init?(_ path: String) {
            var status = stat()
            guard unsafe stat(path, &status) == 0 else { return nil }
            device = UInt64(status.st_dev)
            number = UInt64(status.st_ino)
            size = Int64(status.st_size)
            changed = [
                status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
            ]
        }
    }

    private let file: Mark?
    private let directory: Mark?
    private let sessionDirectory: Mark?
    /// The marks of the files in ``SessionFiles/directory``, by name.
    private let sessionFiles: [String: Mark]

    /// Reads the current status of the files for the configuration file at `path`.
    package init(of path: String) {
        file = Mark(path)
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
        directory = Mark(end == path.startIndex ? "/" : String(path[..<end]))
        let place = SessionFiles.directory(beside: path)
        sessionDirectory = Mark(place)
        sessionFiles = sessionDirectory == nil ? [:] : ConfigurationStamp.marks(in: place)
    }

    /// Returns the marks of the session files, empty for a directory whose files are not read.
    private static func marks(in directory: String) -> [String: Mark] {
        do throws(ConfigurationFileError) {
            let names = try SessionDirectory(directory).names().prefix(SessionFiles.maximumFiles)
            return Dictionary(names.map { ($0, Mark("\(directory)/\($0)")) }) { first, _ in first }
                .compactMapValues(\.self)
        } catch {
            return [:]
        }
    }
}
