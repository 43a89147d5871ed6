// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

/// A remedy that a command printed, as the user reads and follows it.
struct PrintedRemedy: Sendable {
    /// The line that contains the remedy, after the line with the error if the remedy has a line of its own.
    let lines: String
    /// The label: `run`, `set`, `see` or `retry`.
    let label: String
    /// The text after the label.
    let text: String

    private static let labels = ["run", "set", "see", "retry"]

    /// Finds the first remedy in the output of `result` that contains `word`, or returns `nil` if there is none.
    ///
    /// It has a line of its own, `  Run: …`, or is in parentheses at the end of a line, `(run: …)`.
    init?(_ result: ProgramResult, holding word: String) {
        let lines = (result.standardError + "\n" + result.standardOutput).split(separator: "\n").map(
            String.init
        )
        for (index, line) in lines.enumerated() where line.contains(word) {
            for label in Self.labels {
                let own = "  \(label.capitalizedFirst): "
                if line.hasPrefix(own) {
                    self.lines = index == 0 ? line : "\(lines[index - 1])\n\(line)"
                    (self.label, text) = (label, String(line.dropFirst(own.count)))
                    return
                }
                if let mark = line.ranges(of: "(\(label): ").last, line.hasSuffix(")") {
                    self.lines = line
                    (self.label, text) = (label, String(line[mark.upperBound...].dropLast()))
                    return
                }
            }
        }
        return nil
    }

    /// The command to run: the text of `run`, or what follows "then run" in another remedy, or `nil`.
    var command: String? {
        if label == "run" { return text }
        return text.ranges(of: "then run ").last.map { String(text[$0.upperBound...]) }
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}

/// The way a user follows a remedy.
enum Followed: Sendable {
    /// Runs its command, with values for the words in capitals, further options and input.
    case command(with: [String: String] = [:], more: String = "", input: String = "")
    /// Runs a script that does what the remedy says.
    case shell(String)
    /// Changes the configuration as the remedy says, and runs the command at its end.
    case configuration(
        @Sendable (_ text: String, _ remedy: PrintedRemedy) -> String,
        more: String = "",
        input: String = ""
    )
}

/// One remedy: the state, the command that prints it, the way to follow it, and the result of the command afterwards.
struct RemedyCase: CustomTestStringConvertible, Sendable {
    let name: String
    /// A part of the remedy, by which it is found in the output.
    let remedy: String
    let arguments: [String]
    var input = ""
    /// The exit status of the command after the remedy has been followed, or `nil` if only the remedy must change.
    var then: Int32? = 0
    /// Whether the command prints the same remedy again, because the remedy is another command.
    var isRepeated = false
    /// The command to run afterwards, or empty for the same command.
    var again: [String] = []
    var issuer: @Sendable (_ settings: inout IssuerSettings) -> Void = { _ in }
    /// The socket to connect to in the agent's home, or `nil` for the agent's own.
    var socket: String?
    var configuration: @Sendable (_ scene: Scene) -> String? = { _ in nil }
    /// Creates files before the agent starts.
    var files: @Sendable (_ scene: Scene) async throws -> Void = { _ in }
    var prepare: @Sendable (_ scene: Scene) async throws -> Void = { _ in }
    let followed: Followed

    var testDescription: String { name }

    /// Creates the state, follows the remedy, and expects that it is not printed again.
    func verify() async throws {
        let scene = try await Scene(issuer)
        if let text = configuration(scene) { try scene.agent.configure(text) }
        try await files(scene)
        try await scene.agent.start()
        try await prepare(scene)
        let before = try await run(arguments, in: scene)
        let found = try #require(
            PrintedRemedy(before, holding: scene.filled(remedy)),
            "\(before) \(scene.agent.log)"
        )
        try await scene.follow(found, followed.filled(by: scene))
        func says(_ result: ProgramResult) -> Bool {
            "\(result.standardError)\n\(result.standardOutput)".contains(found.lines)
        }
        let command = again.isEmpty ? arguments : again
        var after = try await run(command, in: scene)
        // The agent looks at its files once a second at most, and may have looked just before they were written.
        _ = try await Polling.until(within: .seconds(10)) {
            if !isRepeated, says(after) { after = try await run(command, in: scene) }
            return isRepeated || !says(after)
        }
        #expect(then == nil || after.status == then, "\(before) \(after) \(scene.agent.log)")
        #expect(says(after) == isRepeated, "\(after)")
        _ = try await scene.paste("tokenagent -k")
    }

    private func run(_ arguments: [String], in scene: Scene) async throws -> ProgramResult {
        try await scene.agent.tokenctl(
            arguments.map(scene.filled),
            input: input,
            extraEnvironment: socket.map { ["TOKENAGENT_SOCK": scene.agent.home.path($0)] } ?? [:]
        )
    }
}

extension Followed {
    /// Returns `self` with the addresses and paths of `scene` filled in.
    fileprivate func filled(by scene: Scene) -> Followed {
        switch self {
        case .command(let words, let more, let input):
            .command(with: words, more: scene.filled(more), input: input)
        case .shell(let script): .shell(scene.filled(script))
        case .configuration(let change, let more, let input):
            .configuration({ scene.filled(change($0, $1)) }, more: scene.filled(more), input: input)
        }
    }
}

extension Scene {
    /// Runs a line as if a user had pasted it into a shell.
    func paste(_ line: String, input: String = "") async throws -> ProgramResult {
        try await Program(
            ["/bin/sh", "-c", "cd; \(line)"],
            environment: agent.environment,
            input: input,
            hasTerminal: false
        )
        .finish()
    }

    /// Returns `text` with the address of the issuer for `ISSUER`, and the home of the agent for `HOME`.
    func filled(_ text: String) -> String {
        text.replacing("ISSUER", with: issuer.issuer).replacing("HOME", with: agent.home.path)
    }

    /// The options and the input that a user adds to a login with a password.
    static let password = (more: "--username alice --password-stdin", input: "alice-password\n")

    /// Follows `remedy` as a user would.
    func follow(_ remedy: PrintedRemedy, _ followed: Followed) async throws {
        switch followed {
        case .command(let words, let more, let input):
            var line = try #require(remedy.command, "\(remedy)")
            for (word, value) in words { line = line.replacing(word, with: value) }
            let result = try await paste("\(line) \(more)", input: input)
            #expect(result.status == 0, "\(line) \(more): \(result) \(agent.log)")
        case .shell(let script):
            let result = try await paste(script)
            #expect(result.status == 0, "\(script): \(result)")
        case .configuration(let change, let more, let input):
            let text = try #require(File.text(agent.configurationPath))
            let changed = change(text, remedy)
            try #require(changed != text, "nothing was changed: \(text)")
            try agent.configure(changed)
            if let command = remedy.command {
                // At a login the agent looks at its files, once a second at most.
                var rest = try await paste("\(command) \(more)", input: input)
                _ = try await Polling.until(within: .seconds(3)) {
                    if rest.status != 0 { rest = try await paste("\(command) \(more)", input: input) }
                    return rest.status == 0
                }
                #expect(rest.status == 0, "\(rest) \(agent.log)")
            }
        }
    }
}
