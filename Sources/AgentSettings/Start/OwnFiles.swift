// SPDX-License-Identifier: MIT

import Glibc
import Text

/// Files that the agent itself lives on, and which no table may replace.
package struct OwnFiles: Equatable, Sendable {
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
        objection(at: OwnFiles.place(of: path).bytewise)
    }

    private func objection(at place: ByteText) -> String? {
        func isPlace(of own: String) -> Bool {
            place == OwnFiles.place(of: own).bytewise || place == OwnFiles.resolved(own).bytewise
        }
        if isPlace(of: socket) { return "is the agent's own socket" }
        if isPlace(of: socket + ".lock") { return "is the lock of the agent's own socket" }
        return isPlace(of: configuration) ? "is the configuration file" : nil
    }

    /// What would be lost if a file took the place `path`: a clause for a person; `nil` if nothing of the agent's.
    func objection(toReplacing path: String) -> String? {
        let place = OwnFiles.place(of: path).bytewise
        if let objection = objection(at: place) { return objection }
        func isWithin(_ directory: String) -> Bool {
            let directory = OwnFiles.resolved(directory)
            return place == directory.bytewise || place.hasPrefix("\(directory)/".bytewise)
        }
        if isWithin(SessionFiles.directory(beside: configuration)) {
            return "is in sessions.d, where each file is a session"
        }
        return isWithin(stateDirectory) ? "is in the state directory, which is the agent's own" : nil
    }

    /// `path` with the links of its directory resolved; the last name stays, which is replaced even if it is a link.
    static func place(of path: String) -> String {
        let names = path.utf8.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }
        guard let name = names.last else { return "/" }
        let directory = resolved("/" + names.dropLast().map { String(Substring($0)) }.joined(separator: "/"))
        return (directory == "/" ? "" : directory) + "/" + String(Substring(name))
    }

    /// `path` without links, as far as it exists.
    private static func resolved(_ path: String) -> String {
        if let found = unsafe realpath(path, nil) {
            defer { unsafe free(found) }
            return unsafe String(cString: found)
        }
        return path.utf8.contains { $0 != UInt8(ascii: "/") } ? place(of: path) : path
    }
}
