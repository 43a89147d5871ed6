// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// Asks a person at the terminal, above all for secrets.
enum Question {
    /// Asks once.
    ///
    /// - Parameters:
    ///   - prompt: without colon and blank.
    ///   - kind: what it is, for error messages: `passphrase`.
    ///   - option: what to use where there is no terminal: `--passphrase-stdin`; nil if there is nothing.
    /// - Returns: what was typed.
    /// - Throws: ``AgentError``, `badRequest` if there is no terminal or the answer cannot be a secret.
    static func secret(_ prompt: String, kind: String, option: String?) throws(AgentError) -> Secret {
        guard let terminal = Terminal() else { throw nobody(toAskFor: kind, option) }
        guard let bytes = try terminal.ask(TerminalText.escaped(prompt) + ": ", echo: false) else {
            throw AgentError(.internal, "no \(kind) was given")
        }
        return try Secret(bytes, of: kind)
    }

    /// Asks twice, for a secret in which nobody could correct a typing mistake later.
    static func newSecret(_ prompt: String, kind: String, option: String) throws(AgentError) -> Secret {
        let first = try secret(prompt, kind: kind, option: option)
        let second = try secret(prompt + ", again", kind: kind, option: option)
        guard first == second else { throw AgentError(.badRequest, "the two answers differ") }
        return first
    }

    /// Asks for something that may be seen, at the terminal or else on standard input.
    static func line(_ prompt: String, kind: String, option: String?) throws(AgentError) -> [UInt8] {
        guard let terminal = Terminal() else {
            guard let answer = try StandardInput.line(), !answer.isEmpty else {
                throw nobody(toAskFor: kind, option)
            }
            return answer
        }
        guard let answer = try terminal.ask(TerminalText.escaped(prompt) + ": ", echo: true),
            !answer.isEmpty
        else { throw AgentError(.internal, "no \(kind) was given") }
        return answer
    }

    /// Asks at the terminal, and only there, for something that may be seen.
    ///
    /// - Parameters:
    ///   - prompt: without colon and blank.
    ///   - kind: what it is, for error messages: `client id`.
    ///   - option: what to use where there is no terminal.
    /// - Returns: what was typed, not empty.
    /// - Throws: ``AgentError``, `badRequest` if there is no terminal or nothing was typed.
    static func visible(_ prompt: String, kind: String, option: String) throws(AgentError) -> String {
        guard let answer = try atTerminal(prompt) else { throw nobody(toAskFor: kind, option) }
        guard !answer.isEmpty else { throw AgentError(.badRequest, "no \(kind) was given") }
        return answer
    }

    /// Whether somebody can be asked.
    static var isPossible: Bool {
        guard let terminal = Terminal() else { return false }
        _ = consume terminal
        return true
    }

    /// What is typed at the terminal, perhaps nothing; nil if there is no terminal.
    static func atTerminal(_ prompt: String) throws(AgentError) -> String? {
        guard let terminal = Terminal() else { return nil }
        let answer = try terminal.ask(TerminalText.escaped(prompt) + ": ", echo: true)
        return String(decoding: answer ?? [], as: UTF8.self)
    }

    /// Whether the person at the terminal agrees.
    ///
    /// - Parameters:
    ///   - proposal: a question, without the choice that follows it.
    ///   - emptyAgrees: whether an empty answer is a yes: not where something a stranger wants would come of it.
    /// - Returns: nil if there is no terminal.
    /// - Throws: ``AgentError`` if the terminal cannot be read.
    static func agreement(
        to proposal: String,
        emptyAgrees: Bool = true
    ) throws(AgentError) -> Bool? {
        guard let terminal = Terminal() else { return nil }
        let choice = emptyAgrees ? " [Y/n] " : " [y/N] "
        guard let answer = try terminal.ask(TerminalText.escaped(proposal) + choice, echo: true) else {
            return false
        }
        let word = String(decoding: answer, as: UTF8.self).lowercased()
        return word.isEmpty ? emptyAgrees : ["y", "yes"].contains(word)
    }

    private static func nobody(toAskFor kind: String, _ option: String?) -> AgentError {
        AgentError(
            .badRequest,
            "there is no terminal to ask for the \(kind)",
            remedy: option.map { "use \($0)" } ?? "run it in a terminal"
        )
    }
}
