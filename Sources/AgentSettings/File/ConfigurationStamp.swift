// SPDX-License-Identifier: MIT

import Glibc

/// Number, size and times of the configuration file, those beside it, and their directories, which show whether they
/// have changed.
///
/// An editor writes a file anew or puts another in its place; both show here without reading it.
package struct ConfigurationStamp: Equatable, Sendable {
    private struct Mark: Equatable {
        var device: UInt64
        var number: UInt64
        var size: Int64
        var changed: [Int]

        /// `nil`: there is nothing, or it cannot be looked at.
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
    /// Each file of ``SessionFiles/directory``, by its name.
    private let sessionFiles: [String: Mark]

    /// Looks at `path` as it is now.
    package init(of path: String) {
        file = Mark(path)
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
        directory = Mark(end == path.startIndex ? "/" : String(path[..<end]))
        let place = SessionFiles.directory(beside: path)
        sessionDirectory = Mark(place)
        sessionFiles = sessionDirectory == nil ? [:] : ConfigurationStamp.marks(in: place)
    }

    /// Empty for a directory whose files are not read.
    private static func marks(in directory: String) -> [String: Mark] {
        do throws(ConfigurationFileError) {
            let names = try SessionDirectory(directory).names().prefix(SessionFiles.mostFiles)
            return Dictionary(names.map { ($0, Mark("\(directory)/\($0)")) }) { first, _ in first }
                .compactMapValues(\.self)
        } catch {
            return [:]
        }
    }
}
