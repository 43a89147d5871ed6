// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// A setting that another program stores itself and changes with its own command.
struct ProgramSetting: SetupChange {
    let set: [String]
    let unset: [String]
    /// The command that prints the setting.
    let get: [String]
    /// The output of `get` when the setting is made.
    let value: String
    /// The output of `get` when nothing is set.
    var absent = ""
    /// The file in which the program stores the setting.
    var file: String?
    /// A predicate for the text of a file without settings, which undo removes.
    var isBare: (String) -> Bool = { _ in false }

    var shown: [String] { ["$ " + ProgramSetting.line(set)] }

    func remnant() throws(AgentError) -> [String] {
        try CompletedRun(get).words == value ? ["$ " + ProgramSetting.line(unset)] : []
    }

    /// Returns the command as a line for a shell.
    static func line(_ command: [String]) -> String {
        let words = command.map { word in
            word.utf8.allSatisfy { $0.isUsualInToken || "/:@,".utf8.contains($0) }
                ? word : ShellWord.quoted(word)
        }
        return words.joined(separator: " ")
    }

    func isMade() throws(AgentError) -> Bool {
        let printed = try CompletedRun(get).words
        guard printed != value else { return true }
        guard printed.isEmpty || printed == absent else {
            throw AgentError(
                .badRequest,
                "\(get[0]) already has another setting: \(TerminalText.escaped(printed))",
                remedy: .run(ProgramSetting.line(unset))
            )
        }
        return false
    }

    @discardableResult
    func make() throws(AgentError) -> Restoring {
        if try isMade() { return {} }
        let missing = file.flatMap { unsafe access($0, F_OK) == 0 ? nil : $0 }
        if let file { try OwnDirectory.make(EditedFile.directory(of: file)) }
        let run = try CompletedRun(set, withComplaints: true)
        guard run.status == 0 else { throw failure(of: set, run) }
        if let missing { EditedFile.markCreatedBySetup(missing) }
        // Nothing was set before, so undo restores the previous state.
        return undo
    }

    func undo() throws(AgentError) {
        guard try CompletedRun(get).words == value else { return }
        let run = try CompletedRun(unset, withComplaints: true)
        guard run.status == 0 else { throw failure(of: unset, run) }
        if let file, let left = try? EditedFile(file), left.isOwn, let text = left.text, isBare(text) {
            try left.replace(with: "")
        }
    }

    private func failure(of command: [String], _ run: CompletedRun) -> AgentError {
        let reason = run.words.isEmpty ? "" : ": \(TerminalText.escaped(run.words, longest: 500))"
        return AgentError(.internal, "\(command[0]) failed with status \(run.status)\(reason)")
    }
}

/// A completed run of a program, with its output.
struct CompletedRun {
    let status: Int32
    private let output: [UInt8]

    /// Runs `command` without input, and includes or drops its standard error.
    ///
    /// - Throws: ``AgentError`` if the program cannot be started.
    init(_ command: [String], withComplaints: Bool = false) throws(AgentError) {
        var pipe = try Pipe()
        let child = try ChildProcess(
            command[0],
            Array(command.dropFirst()),
            output: .descriptor(pipe.writing),
            error: withComplaints ? .descriptor(pipe.writing) : .null
        )
        pipe.closeWriting()
        output = pipe.all()
        status = child.wait()
    }

    /// The output as one line.
    var words: String {
        String(decoding: output, as: UTF8.self).split { $0.isNewline || $0 == " " }.joined(separator: " ")
    }
}
