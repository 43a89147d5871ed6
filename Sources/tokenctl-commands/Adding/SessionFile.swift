// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// Files of sessions beside the configuration file: where each is, and how one is put there or taken away.
struct SessionFile {
    let name: String
    /// The configuration file.
    let configuration: String
    /// As above, where it is not the file that this user's programs read anyway.
    let otherConfiguration: String?

    /// The file for the session `name` of the agent at `endpoint`, or of this user where none answers.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` for a name that no session can have, and which might lead
    ///   elsewhere.
    init(_ name: String, for endpoint: AgentEndpoint) throws(AgentError) {
        guard SessionFile.isSessionName(name) else {
            throw AgentError(
                .badRequest,
                "a session's name is 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"
            )
        }
        self.name = name
        let usual = try AgentPaths.configuration()
        configuration = endpoint.pendingReload?.file ?? usual
        otherConfiguration = configuration == usual ? nil : configuration
    }

    /// Whether the agent takes `text` as a name.
    private static func isSessionName(_ text: String) -> Bool {
        guard (1...64).contains(text.utf8.count), let first = text.utf8.first,
            first.isASCIILetter || first.isASCIIDigit
        else { return false }
        return text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "._-".utf8.contains($0) }
    }

    /// `sessions.d` beside the configuration file.
    var directory: String {
        let end = configuration.utf8.lastIndex(of: UInt8(ascii: "/"))
        return (end.map { configuration[...$0] } ?? "") + "sessions.d"
    }

    /// The copy of the certificates that this session trusts, if one was made.
    var authorityPath: String { "\(directory)/\(name).pem" }

    var path: String { "\(directory)/\(name).toml" }

    /// Whether something has the name, whatever it is.
    var exists: Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    /// Why the name cannot be used.
    var taken: AgentError {
        AgentError(
            .badRequest,
            "\(path) is there already",
            remedy: "choose another name, or: tokenctl remove \(name)"
        )
    }

    /// Writes `text` and puts it in place, if the configuration has no mistake with it.
    ///
    /// - Throws: ``AgentError``; nothing is then in place, and what was there is as it was.
    func put(_ text: String) throws(AgentError) {
        try makeDirectory()
        LockedDirectory.removeLeftovers(in: directory, named: SessionFileDraft.prefix)
        let draft = try SessionFileDraft(of: self)
        try draft.write(text)
        try draft.check()
        try draft.putInPlace()
    }

    /// Deletes the file, and the copy of the certificates that it names.
    func remove() throws(AgentError) {
        guard unsafe unlink(path) == 0 else { throw SessionFile.failure("delete", path) }
        SessionFile.sync(directory)
        unsafe unlink(authorityPath)
    }

    /// Makes the directories that are missing; those that are there are judged by the agent's program.
    func makeDirectory() throws(AgentError) {
        var status = stat()
        guard unsafe lstat(directory, &status) != 0 else { return }
        try PrivateDirectory.prepare(directory)
    }

    static func failure(_ attempt: String, _ path: String) -> AgentError {
        let reason = errno
        return AgentError(.internal, "cannot \(attempt) \(path): \(systemMessage(reason))")
    }

    static func sync(_ directory: String) {
        let opened = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard opened >= 0 else { return }
        fsync(opened)
        close(opened)
    }
}

/// A session's file that is not in place yet: in a hidden directory, where nobody reads it, and which goes with it.
private struct SessionFileDraft: ~Copyable {
    private let file: SessionFile
    private let directory: LockedDirectory
    private var path: String { "\(directory.path)/\(file.name).toml" }

    /// The beginning of the directory's name.
    static let prefix = ".draft-"

    /// Makes the directory.
    init(of file: SessionFile) throws(AgentError) {
        directory = try LockedDirectory(in: file.directory, named: SessionFileDraft.prefix)
        self.file = file
    }

    borrowing func write(_ text: String) throws(AgentError) {
        let opened = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw SessionFile.failure("write", path) }
        defer { close(opened) }
        let reason = unsafe Array(text.utf8).withUnsafeBytes { unsafe writeAll($0, to: opened) }
        guard reason == 0 else {
            throw AgentError(.internal, "cannot write \(path): \(systemMessage(reason))")
        }
        guard fsync(opened) == 0 else { throw SessionFile.failure("write", path) }
    }

    /// Has the agent's program read the file with all others.
    borrowing func check() throws(AgentError) {
        let report = try ConfigurationReport(of: file.otherConfiguration, adding: directory.path)
        // Mistakes of other sessions are theirs alone; without the directory nothing would be read.
        let (path, place) = (path, file.directory)
        let complaints = (report.message.problems ?? []).filter { problem in
            !report.isUsable || problem.file == path || problem.file == place
        }
        guard let first = complaints.first else { return }
        guard first.file == path else {
            let complaint = ConfigurationReport.complaint(first, in: report.file)
            throw AgentError(.misconfigured, complaint, remedy: "tokenctl config check")
        }
        let words = complaints.map { [$0.key, $0.message].compactMap(\.self).joined(separator: ": ") }
        throw AgentError(.misconfigured, words.joined(separator: "; "), remedy: "nothing was written")
    }

    /// A link never replaces what is there, as a rename would.
    borrowing func putInPlace() throws(AgentError) {
        guard unsafe link(path, file.path) == 0 else {
            throw errno == EEXIST ? file.taken : SessionFile.failure("write", file.path)
        }
        SessionFile.sync(file.directory)
    }
}
