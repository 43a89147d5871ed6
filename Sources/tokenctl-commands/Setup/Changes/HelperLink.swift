// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// A link to `tokenctl` under the name by which another program looks for its helper.
struct HelperLink: SetupChange {
    let path: String
    let program: String

    /// A link `name` that is found by way of `PATH`, or nil if one is there already.
    ///
    /// - Throws: ``AgentError`` if another program of that name would be found first.
    init?(inPathAs name: String, to program: String, _ places: ClientPlaces) throws(AgentError) {
        let directory = places.programDirectory
        if let found = places.program(name) {
            if HelperLink.leads(found, to: program) { return nil }
            let order = places.path
            let first = order.firstIndex(of: EditedFile.directory(of: found)) ?? 0
            guard let own = order.firstIndex(of: directory), own < first else {
                throw AgentError(
                    .badRequest,
                    "\(found) is another program of that name, and is found first",
                    remedy: "put \(directory) before it in PATH"
                )
            }
        }
        path = directory + "/" + name
        self.program = program
    }

    init(at path: String, to program: String) {
        self.path = path
        self.program = program
    }

    var shown: [String] { ["\(path) -> \(program)"] }

    func isMade() throws(AgentError) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return false }
        guard HelperLink.leads(path, to: program) else {
            throw AgentError(.badRequest, "\(path) is there already", remedy: "remove it first")
        }
        return true
    }

    func make() throws(AgentError) {
        if try isMade() { return }
        try OwnDirectory.make(EditedFile.directory(of: path))
        guard unsafe symlink(program, path) == 0 else {
            throw EditedFile.refusal(path, systemMessage(errno))
        }
    }

    func remnant() -> [String] { isOurs ? shown : [] }

    func undo() throws(AgentError) {
        guard isOurs else { return }
        guard unsafe unlink(path) == 0 else { throw EditedFile.refusal(path, systemMessage(errno)) }
        OwnDirectory.remove(EditedFile.directory(of: path))
    }

    /// Not a relative link, as the installation makes them.
    private var isOurs: Bool {
        // The first byte of where it leads is enough; what is no link has none.
        var target: [CChar] = [0]
        let count = unsafe readlink(path, &target, target.count)
        return count == 1 && target[0] == CChar(bitPattern: UInt8(ascii: "/"))
            && HelperLink.leads(path, to: program)
    }

    /// Whether `path` is `program`, whatever links lead there.
    private static func leads(_ path: String, to program: String) -> Bool {
        var (left, right) = (stat(), stat())
        guard unsafe stat(path, &left) == 0, unsafe stat(program, &right) == 0 else { return false }
        return left.st_dev == right.st_dev && left.st_ino == right.st_ino
    }
}
