// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import Text

/// The agent's own files, which no table may replace.
package struct ReservedPaths: Equatable, Sendable {
    private let socket: String
    private let stateDirectory: String
    private let configuration: String

    /// Creates the set from absolute paths.
    package init(socket: String, stateDirectory: String, configuration: String) {
        self.socket = socket
        self.stateDirectory = stateDirectory
        self.configuration = configuration
    }

    /// Returns a clause for the user that says why no socket may be at `path`, or `nil` if one may.
    func objection(toListeningAt path: String) -> String? {
        objection(at: ReservedPaths.place(of: path).bytewise)
    }

    private func objection(at place: ByteText) -> String? {
        func isPlace(of own: String) -> Bool {
            place == ReservedPaths.place(of: own).bytewise || place == ReservedPaths.resolved(own).bytewise
        }
        if isPlace(of: socket) { return "is the agent's socket" }
        if isPlace(of: socket + ".lock") { return "is the lock file of the agent's socket" }
        return isPlace(of: configuration) ? "is the configuration file" : nil
    }

    /// Returns a clause for the user that says what a file at `path` would replace, or `nil` if nothing of
    /// the agent's.
    func objection(toReplacing path: String) -> String? {
        let place = ReservedPaths.place(of: path).bytewise
        if let objection = objection(at: place) { return objection }
        func isWithin(_ directory: String) -> Bool {
            let directory = ReservedPaths.resolved(directory)
            return place == directory.bytewise || place.hasPrefix("\(directory)/".bytewise)
        }
        if isWithin(SessionFiles.directory(beside: configuration)) {
            return "is in sessions.d, where each file is a session"
        }
        return isWithin(stateDirectory) ? "is in the agent's state directory" : nil
    }

    /// Returns `path` with the links of its directory resolved.
    ///
    /// The last component is kept: it is replaced even if it is a link.
    package static func place(of path: String) -> String { place(of: path, following: maximumLinks) }

    /// Resolves `path`, where `..` after a missing directory leads back to its future parent.
    private static func place(of path: String, following links: Int) -> String {
        let names = path.utf8.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }
        guard let name = names.last else { return "/" }
        let parent = "/" + names.dropLast().map { String(Substring($0)) }.joined(separator: "/")
        let directory = resolved(parent, following: links)
        guard !name.elementsEqual("..".utf8) else { return SocketDirectory.parent(of: directory) }
        return (directory == "/" ? "" : directory) + "/" + String(Substring(name))
    }

    /// The number of links that the kernel follows in one path (path_resolution(7)).
    private static let maximumLinks = 40

    /// Returns `path` without links, even if their targets do not exist yet.
    package static func resolved(_ path: String) -> String { resolved(path, following: maximumLinks) }

    private static func resolved(_ path: String, following links: Int) -> String {
        if let found = unsafe realpath(path, nil) {
            defer { unsafe free(found) }
            return unsafe String(cString: found)
        }
        guard path.utf8.contains(where: { $0 != UInt8(ascii: "/") }) else { return path }
        let place = place(of: path, following: links)
        guard links > 0, let target = target(of: place) else { return place }
        let isAbsolute = target.utf8.first == UInt8(ascii: "/")
        return resolved(
            isAbsolute ? target : "\(SocketDirectory.parent(of: place))/\(target)",
            following: links - 1
        )
    }

    /// Returns the target of the symbolic link `path`, or `nil` if it is not a link.
    private static func target(of path: String) -> String? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(path, &target, target.count)
        guard count > 0, count < target.count else { return nil }
        return String(validating: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
