// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// A link to `tokenctl` with the name under which another program looks for its helper.
struct HelperLink: SetupChange {
    let path: String
    let program: String

    /// Creates a link `name` in a directory of `PATH`, or returns `nil` if one exists.
    ///
    /// - Throws: ``AgentError`` if another program of that name would be found first.
    init?(inPathAs name: String, to program: String, _ places: ClientPaths) throws(AgentError) {
        let directory = places.programDirectory
        if let found = places.program(name) {
            if HelperLink.leads(found, to: program) { return nil }
            let order = places.path
            let first = order.firstIndex(of: EditedFile.directory(of: found)) ?? 0
            // A program in this directory may be our link from an earlier setup.
            guard let own = order.firstIndex(of: directory), own <= first else {
                throw AgentError(
                    .badRequest,
                    "another program of that name comes first in PATH: \(found)",
                    remedy: .set("PATH with \(directory) first")
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
            throw AgentError(.badRequest, "\(path) already exists", remedy: .retry("after removing it"))
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
        // Our own link may exist and lead to an earlier location of tokenctl.
        let old = target
        try point(to: program)
        return { () throws(AgentError) in
            guard target?.bytewise == program.bytewise else {
                throw EditedFile.refusal(path, "it was changed just now")
            }
            if let old { try point(to: old) } else { try undo() }
        }
    }

    /// Creates the link, and replaces an existing one.
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

    /// Whether the link is ours: an absolute link to a `tokenctl` in any directory.
    ///
    /// The installation creates relative links, which are not ours.
    private var isOurs: Bool {
        guard let place = target?.bytewise, place.hasPrefix("/") else { return false }
        return place.hasSuffix("/tokenctl") || HelperLink.leads(path, to: program)
    }

    /// The target of the link, or `nil` if the path is not a link or the target is not UTF-8.
    private var target: String? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(path, &target, target.count)
        guard count > 0 else { return nil }
        return String(validating: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Returns whether `path` and `program` are the same file after following links.
    private static func leads(_ path: String, to program: String) -> Bool {
        var (left, right) = (stat(), stat())
        guard unsafe stat(path, &left) == 0, unsafe stat(program, &right) == 0 else { return false }
        return left.st_dev == right.st_dev && left.st_ino == right.st_ino
    }
}
