// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import Text

/// Files that the agent itself lives on, and which no table may replace.
package struct ReservedPaths: Equatable, Sendable {
    private let socket: String
    private let stateDirectory: String
    private let configuration: String

    /// Takes absolute paths.
    package init(socket: String, stateDirectory: String, configuration: String) {
        self.socket = socket
        self.stateDirectory = stateDirectory
        self.configuration = configuration
    }

    /// Why no socket can be at `path`: a clause for a person; `nil` if nothing of the agent's is there.
    func objection(toListeningAt path: String) -> String? {
        objection(at: ReservedPaths.place(of: path).bytewise)
    }

    private func objection(at place: ByteText) -> String? {
        func isPlace(of own: String) -> Bool {
            place == ReservedPaths.place(of: own).bytewise || place == ReservedPaths.resolved(own).bytewise
        }
        if isPlace(of: socket) { return "is the agent's own socket" }
        if isPlace(of: socket + ".lock") { return "is the lock of the agent's own socket" }
        return isPlace(of: configuration) ? "is the configuration file" : nil
    }

    /// What would be lost if a file took the place `path`: a clause for a person; `nil` if nothing of the agent's.
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
        return isWithin(stateDirectory) ? "is in the state directory, which is the agent's own" : nil
    }

    /// `path` with the links of its directory resolved; the last name stays, which is replaced even if it is a link.
    package static func place(of path: String) -> String { place(of: path, following: mostLinks) }

    /// `..` of what does not exist yet leads back to where that will be.
    private static func place(of path: String, following links: Int) -> String {
        let names = path.utf8.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }
        guard let name = names.last else { return "/" }
        let parent = "/" + names.dropLast().map { String(Substring($0)) }.joined(separator: "/")
        let directory = resolved(parent, following: links)
        guard !name.elementsEqual("..".utf8) else { return SocketDirectory.parent(of: directory) }
        return (directory == "/" ? "" : directory) + "/" + String(Substring(name))
    }

    /// As many as the kernel follows in one path (path_resolution(7)).
    private static let mostLinks = 40

    /// `path` without links, also where what they lead to does not exist yet.
    package static func resolved(_ path: String) -> String { resolved(path, following: mostLinks) }

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

    /// Where the symbolic link `path` leads; `nil`: it is none.
    private static func target(of path: String) -> String? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(path, &target, target.count)
        guard count > 0, count < target.count else { return nil }
        return String(validating: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
