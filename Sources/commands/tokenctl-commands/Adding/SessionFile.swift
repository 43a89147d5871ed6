// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// The file of a session in `sessions.d`, next to the configuration file.
struct SessionFile {
    let name: String
    /// The path of the configuration file.
    let configuration: String

    /// Locates the file for the session `name` of the agent at `endpoint`, or of this user if no agent
    /// responds.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` for an invalid session name, which might also
    ///   lead to another directory.
    init(_ name: String, for endpoint: AgentEndpoint) throws(AgentError) {
        guard SessionFile.isSessionName(name) else {
            throw AgentError(
                .badRequest,
                "a session's name is 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"
            )
        }
        self.name = name
        let usual = try AgentPaths.configuration()
        configuration = endpoint.runningAgent?.configuration ?? usual
    }

    /// Returns whether the agent accepts `text` as a session name.
    private static func isSessionName(_ text: String) -> Bool {
        guard (1...64).contains(text.utf8.count), let first = text.utf8.first,
            first.isASCIILetter || first.isASCIIDigit
        else { return false }
        return text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "._-".utf8.contains($0) }
    }

    /// The path of `sessions.d` next to the configuration file.
    var directory: String { ConfigurationReport.sessionDirectory(nextTo: configuration) }

    /// The path of the copy of the CA certificates that this session trusts, if one was made.
    var authorityPath: String { "\(directory)/\(name).pem" }

    var path: String { "\(directory)/\(name).toml" }

    /// Whether a file of any type exists at ``path``.
    var exists: Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    /// The error for a name that is in use.
    var taken: AgentError {
        AgentError(
            .badRequest,
            "session file already exists: \(path)",
            remedy: .set("the keys to change in \(path), then run tokenctl reload")
        )
    }

    /// Writes `text` to the file if the whole configuration is valid with it.
    ///
    /// - Throws: ``AgentError``. The configuration is then unchanged.
    func put(_ text: String) throws(AgentError) {
        try makeDirectory()
        LockedTemporaryDirectory.removeLeftovers(in: directory, named: StagedSessionFile.prefix)
        let draft = try StagedSessionFile(of: self)
        try draft.write(text)
        try draft.check()
        try draft.putInPlace()
    }

    /// Deletes the file and the copy of its CA certificates.
    func remove() throws(AgentError) {
        guard unsafe unlink(path) == 0 else { throw SessionFile.failure("delete", path) }
        SessionFile.sync(directory)
        unsafe unlink(authorityPath)
    }

    /// Creates the directory of the file, and its parents, if it is missing.
    ///
    /// `tokenagent` checks an existing directory later, with the new configuration.
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

/// A session file that is not in use yet, in a hidden directory that is not read and is removed with it.
private struct StagedSessionFile: ~Copyable {
    private let file: SessionFile
    private let directory: LockedTemporaryDirectory
    private var path: String { "\(directory.path)/\(file.name).toml" }

    /// The prefix of the directory's name.
    static let prefix = ".draft-"

    /// Creates the directory.
    init(of file: SessionFile) throws(AgentError) {
        directory = try LockedTemporaryDirectory(in: file.directory, named: StagedSessionFile.prefix)
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

    /// Makes `tokenagent` check the file together with all others.
    borrowing func check() throws(AgentError) {
        let report = try ConfigurationReport(ofAgent: file.configuration, adding: directory.path)
        // Errors of other sessions do not matter here. But an error of the directory would keep the file from
        // being read.
        let (path, place) = (path, file.directory)
        let complaints = (report.message.problems ?? []).filter { problem in
            !report.isUsable || problem.file == path || problem.file == place
        }
        guard let first = complaints.first else { return }
        guard first.file == path else {
            let complaint = ConfigurationReport.complaint(first, in: report.file)
            throw AgentError(.misconfigured, complaint, remedy: .run("tokenctl config check"))
        }
        let words = complaints.map { [$0.key, $0.message].compactMap(\.self).joined(separator: ": ") }
        throw AgentError(.misconfigured, words.joined(separator: "; "))
    }

    /// Links the file to its final path; link(2) never replaces an existing file, as rename(2) would.
    borrowing func putInPlace() throws(AgentError) {
        guard unsafe link(path, file.path) == 0 else {
            throw errno == EEXIST ? file.taken : SessionFile.failure("write", file.path)
        }
        SessionFile.sync(file.directory)
    }
}
