// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

/// A remedy that a command printed, as a person reads and follows it.
struct Remedy: Sendable {
    /// The whole line that it ends.
    let line: String
    /// What is to be done.
    let text: String

    /// Takes the remedy off the first line of `result` that has one; `nil`: no line has.
    ///
    /// It follows `; run: ` if it is a command, else a semicolon; a finding of doctor and a status have it in lines of their own.
    init?(_ result: ProgramResult, holding word: String) {
        let lines = (result.standardError + "\n" + result.standardOutput).split(separator: "\n").map(
            String.init
        )
        guard let line = lines.first(where: { $0.contains(word) }) else { return nil }
        self.line = line
        let marks = ["; run: ", "; to do: ", "to do: ", "run: ", "; "]
        let places = marks.compactMap { line.range(of: $0, last: true).map { line[$0.upperBound...] } }
        text = places.first { $0.contains(word) }.map(String.init) ?? line
    }

    /// The command of `tokenctl`, `tokenagent` or the shell that it consists of or ends with.
    var command: String {
        for start in ["tokenctl ", "chmod ", "tokenagent"] {
            if let place = text.range(of: start, last: false) {
                let command = text[place.lowerBound...]
                // What follows it, in the same line, is about it.
                return String(command.prefix { !"`),;".contains($0) })
            }
        }
        return text
    }
}

extension String {
    /// Where `part` is in the text for the first or the last time.
    fileprivate func range(of part: String, last: Bool) -> Range<String.Index>? {
        let all = ranges(of: part)
        return last ? all.last : all.first
    }
}

/// What a person does about a remedy.
enum Followed: Sendable {
    /// Runs its command as it stands, but for what is written in capitals, and for what the flow asks of the person.
    case command(with: [String: String] = [:], more: String = "", input: String = "")
    /// Does in the shell what the words ask for.
    case shell(String)
    /// Changes the configuration as the words say, and runs the command that they end with.
    case configuration(
        @Sendable (_ text: String, _ remedy: Remedy) -> String,
        more: String = "",
        input: String = ""
    )
}

/// One remedy: the state, the command that prints it, what a person does, and what the command says then.
struct RemedyCase: CustomTestStringConvertible, Sendable {
    let name: String
    /// Words of the remedy, by which it is found in what is printed.
    let remedy: String
    let arguments: [String]
    var input = ""
    /// What the command ends with once the remedy has been followed; `nil`: anything, as long as the remedy is another one.
    var then: Int32? = 0
    /// The remedy is another command: this one says the same again.
    var isRepeated = false
    /// The command run afterwards, where it is another one; empty for the same.
    var again: [String] = []
    var issuer: @Sendable (_ settings: inout IssuerSettings) -> Void = { _ in }
    /// The socket in the agent's home that is asked, or `nil` for the agent's own.
    var socket: String?
    var configuration: @Sendable (_ scene: Scene) -> String? = { _ in nil }
    /// Makes files before the agent starts: what it finds at its first try.
    var files: @Sendable (_ scene: Scene) async throws -> Void = { _ in }
    var prepare: @Sendable (_ scene: Scene) async throws -> Void = { _ in }
    let followed: Followed

    var testDescription: String { name }

    /// Brings the state about, has a person do what is said, and expects that it is not said again.
    func verify() async throws {
        let scene = try await Scene(issuer)
        if let text = configuration(scene) { try scene.agent.configure(text) }
        try await files(scene)
        try await scene.agent.start()
        try await prepare(scene)
        let before = try await run(arguments, in: scene)
        let found = try #require(
            Remedy(before, holding: scene.filled(remedy)),
            "\(before) \(scene.agent.log)"
        )
        try await scene.follow(found, followed.filled(by: scene))
        func says(_ result: ProgramResult) -> Bool {
            (result.standardError + result.standardOutput).contains(found.line)
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
    /// The same, with the places of `scene` in it.
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
    /// Runs a line that a person pastes into a shell.
    func paste(_ line: String, input: String = "") async throws -> ProgramResult {
        try await Program(
            ["/bin/sh", "-c", "cd; \(line)"],
            environment: agent.environment,
            input: input,
            hasTerminal: false
        )
        .finish()
    }

    /// `text` with the address of the issuer for `ISSUER`, and the home of the agent for `HOME`.
    func filled(_ text: String) -> String {
        text.replacing("ISSUER", with: issuer.issuer).replacing("HOME", with: agent.home.path)
    }

    /// What a person adds to a login by password.
    static let password = (more: "--username alice --password-stdin", input: "alice-password\n")

    /// Has a person do what `remedy` says.
    func follow(_ remedy: Remedy, _ followed: Followed) async throws {
        switch followed {
        case .command(let words, let more, let input):
            var line = remedy.command
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
            if remedy.command.hasPrefix("tokenctl ") {
                // At a login the agent looks at its files, once a second at most.
                var rest = try await paste("\(remedy.command) \(more)", input: input)
                _ = try await Polling.until(within: .seconds(3)) {
                    if rest.status != 0 { rest = try await paste("\(remedy.command) \(more)", input: input) }
                    return rest.status == 0
                }
                #expect(rest.status == 0, "\(rest) \(agent.log)")
            }
        }
    }
}
