// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// Prompts at the terminal, mostly for secrets.
enum TerminalPrompts {
    /// Prompts once for a secret, which is not shown.
    ///
    /// - Parameters:
    ///   - prompt: The prompt without colon and blank.
    ///   - kind: The kind of secret for error messages, such as `passphrase`.
    ///   - option: The option to use without a terminal, such as `--passphrase-stdin`, or `nil` if there is
    ///     none.
    /// - Returns: The secret.
    /// - Throws: ``AgentError`` with the code `badRequest` if there is no terminal or the input cannot be a
    ///   secret.
    static func secret(_ prompt: String, kind: String, option: String?) throws(AgentError) -> Secret {
        guard let terminal = Terminal() else { throw cannotPrompt(for: kind, option) }
        guard let bytes = try terminal.ask(shown(prompt) + ": ", echo: false) else {
            throw noInput(kind)
        }
        return try Secret(bytes, of: kind)
    }

    /// Prompts twice, for a new secret in which a typing error could not be corrected later.
    static func newSecret(_ prompt: String, kind: String, option: String) throws(AgentError) -> Secret {
        let first = try secret(prompt, kind: kind, option: option)
        let second = try secret(prompt + ", again", kind: kind, option: option)
        guard first == second else {
            throw AgentError(
                .badRequest,
                "the second \(kind) differs from the first",
                remedy: .retry("with the same \(kind) twice")
            )
        }
        return first
    }

    /// Prompts for visible input at the terminal, else reads a line of standard input.
    static func line(_ prompt: String, kind: String, option: String?) throws(AgentError) -> [UInt8] {
        guard let terminal = Terminal() else {
            guard let answer = try StandardInput.line(), !answer.isEmpty else {
                throw cannotPrompt(for: kind, option)
            }
            return answer
        }
        guard let answer = try terminal.ask(shown(prompt) + ": ", echo: true),
            !answer.isEmpty
        else { throw noInput(kind) }
        return answer
    }

    /// Prompts for visible input only at the terminal.
    ///
    /// - Parameters:
    ///   - prompt: The prompt without colon and blank, at most 72 characters.
    ///   - help: A line above the prompt, or `nil`.
    ///   - kind: The kind of input for error messages, such as `client ID`.
    ///   - remedy: The remedy if there is no terminal.
    /// - Returns: The input, which is not empty.
    /// - Throws: ``AgentError`` with the code `badRequest` if there is no terminal or the input is empty.
    static func visible(
        _ prompt: String,
        below help: String? = nil,
        kind: String,
        remedy: Remedy
    ) throws(AgentError) -> String {
        guard let answer = try atTerminal(prompt, below: help) else {
            throw cannotPrompt(for: kind, remedy: remedy)
        }
        guard !answer.isEmpty else { throw AgentError(.badRequest, "no \(kind) entered") }
        return answer
    }

    /// Whether there is a terminal.
    static var isPossible: Bool {
        guard let terminal = Terminal() else { return false }
        _ = consume terminal
        return true
    }

    /// Prompts for visible input, which may be empty; `help` is a line above the prompt.
    ///
    /// - Returns: The input, or `nil` if there is no terminal.
    static func atTerminal(
        _ prompt: String,
        below help: String? = nil
    ) throws(AgentError) -> String? {
        guard let terminal = Terminal() else { return nil }
        let answer = try terminal.ask(lineAbove(help) + shown(prompt) + ": ", echo: true)
        return String(decoding: answer ?? [], as: UTF8.self)
    }

    /// Asks the user to agree to a proposal.
    ///
    /// - Parameters:
    ///   - proposal: A question without the choice that follows it.
    ///   - help: A line above the question, or `nil`.
    ///   - emptyAgrees: Whether empty input means yes. It must not if a third party proposes the action.
    /// - Returns: Whether the user agrees, or `nil` if there is no terminal.
    /// - Throws: ``AgentError`` if the terminal cannot be read.
    static func agreement(
        to proposal: String,
        below help: String? = nil,
        emptyAgrees: Bool = true
    ) throws(AgentError) -> Bool? {
        guard let terminal = Terminal() else { return nil }
        let choice = emptyAgrees ? " [Y/n] " : " [y/N] "
        let question = lineAbove(help) + shown(proposal) + choice
        guard let answer = try terminal.ask(question, echo: true) else { return false }
        let word = String(decoding: answer, as: UTF8.self).lowercased()
        return word.isEmpty ? emptyAgrees : ["y", "yes"].contains(word)
    }

    /// The maximum number of columns of a prompt.
    private static let width = 72

    /// Returns `text` escaped and wrapped.
    private static func shown(_ text: String) -> String {
        TerminalText.wrapped(TerminalText.escaped(text, longest: 4_500), to: width).joined(separator: "\n")
    }

    private static func lineAbove(_ help: String?) -> String { help.map { shown($0) + "\n" } ?? "" }

    private static func noInput(_ kind: String) -> AgentError {
        AgentError(.internal, "no \(kind) entered", remedy: .retry("with the \(kind)"))
    }

    private static func cannotPrompt(for kind: String, _ option: String?) -> AgentError {
        let remedy = option.map { Remedy.set($0) }
        return cannotPrompt(for: kind, remedy: remedy ?? Remedy.retry("in a terminal"))
    }

    private static func cannotPrompt(for kind: String, remedy: Remedy) -> AgentError {
        AgentError(.badRequest, "cannot prompt for the \(kind): not a terminal", remedy: remedy)
    }
}
