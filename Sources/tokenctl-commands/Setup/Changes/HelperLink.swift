// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

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
            // One in its own place may be ours, from an earlier time.
            guard let own = order.firstIndex(of: directory), own <= first else {
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
        if HelperLink.leads(path, to: program) { return true }
        guard isOurs else {
            throw AgentError(.badRequest, "\(path) is there already", remedy: "remove it first")
        }
        return false
    }

    func replaced() -> [String] {
        guard isOurs, let target, !HelperLink.leads(path, to: program) else { return [] }
        return ["\(path) -> \(target)"]
    }

    @discardableResult
    func make() throws(AgentError) -> Restoring {
        if try isMade() { return {} }
        // One of ours may be there, which leads to where tokenctl was before.
        let old = target
        try point(to: program)
        return { () throws(AgentError) in
            guard target?.bytewise == program.bytewise else {
                throw EditedFile.refusal(path, "it was changed just now")
            }
            if let old { try point(to: old) } else { try undo() }
        }
    }

    /// Makes the link, in place of one that is there.
    private func point(to target: String) throws(AgentError) {
        let directory = EditedFile.directory(of: path)
        try OwnDirectory.make(directory)
        defer { OwnDirectory.remove(directory) }
        let draft = path + ".lock"
        guard unsafe symlink(target, draft) == 0 else {
            throw EditedFile.refusal(path, draft: draft, errno)
        }
        guard unsafe rename(draft, path) == 0 else {
            let reason = errno
            unsafe unlink(draft)
            throw EditedFile.refusal(path, systemMessage(reason))
        }
    }

    func remnant() -> [String] { isOurs ? shown : [] }

    func undo() throws(AgentError) {
        guard isOurs else { return }
        guard unsafe unlink(path) == 0 else { throw EditedFile.refusal(path, systemMessage(errno)) }
        OwnDirectory.remove(EditedFile.directory(of: path))
    }

    /// A link to `tokenctl`, wherever it was then; not a relative one, as the installation makes them.
    private var isOurs: Bool {
        guard let place = target?.bytewise, place.hasPrefix("/") else { return false }
        return place.hasSuffix("/tokenctl") || HelperLink.leads(path, to: program)
    }

    /// Where the link leads; nil if it is none, or its text is not UTF-8.
    private var target: String? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(path, &target, target.count)
        guard count > 0 else { return nil }
        return String(validating: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Whether `path` is `program`, whatever links lead there.
    private static func leads(_ path: String, to program: String) -> Bool {
        var (left, right) = (stat(), stat())
        guard unsafe stat(path, &left) == 0, unsafe stat(program, &right) == 0 else { return false }
        return left.st_dev == right.st_dev && left.st_ino == right.st_ino
    }
}
