// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// Prompts at the terminal, mostly for secrets.
enum Question {
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
        guard let terminal = Terminal() else { throw nobody(toAskFor: kind, option) }
        guard let bytes = try terminal.ask(TerminalText.escaped(prompt) + ": ", echo: false) else {
            throw AgentError(.internal, "no \(kind) was given")
        }
        return try Secret(bytes, of: kind)
    }

    /// Prompts twice, for a new secret in which a typing error could not be corrected later.
    static func newSecret(_ prompt: String, kind: String, option: String) throws(AgentError) -> Secret {
        let first = try secret(prompt, kind: kind, option: option)
        let second = try secret(prompt + ", again", kind: kind, option: option)
        guard first == second else { throw AgentError(.badRequest, "the two answers differ") }
        return first
    }

    /// Prompts for visible input at the terminal, else reads a line of standard input.
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

    /// Prompts for visible input only at the terminal.
    ///
    /// - Parameters:
    ///   - prompt: The prompt without colon and blank.
    ///   - kind: The kind of input for error messages, such as `client id`.
    ///   - option: The option to use without a terminal.
    /// - Returns: The input, which is not empty.
    /// - Throws: ``AgentError`` with the code `badRequest` if there is no terminal or the input is empty.
    static func visible(_ prompt: String, kind: String, option: String) throws(AgentError) -> String {
        guard let answer = try atTerminal(prompt) else { throw nobody(toAskFor: kind, option) }
        guard !answer.isEmpty else { throw AgentError(.badRequest, "no \(kind) was given") }
        return answer
    }

    /// Whether there is a terminal.
    static var isPossible: Bool {
        guard let terminal = Terminal() else { return false }
        _ = consume terminal
        return true
    }

    /// Prompts for visible input, which may be empty.
    ///
    /// - Returns: The input, or `nil` if there is no terminal.
    static func atTerminal(_ prompt: String) throws(AgentError) -> String? {
        guard let terminal = Terminal() else { return nil }
        let answer = try terminal.ask(TerminalText.escaped(prompt) + ": ", echo: true)
        return String(decoding: answer ?? [], as: UTF8.self)
    }

    /// Asks the user to agree to a proposal.
    ///
    /// - Parameters:
    ///   - proposal: A question without the choice that follows it.
    ///   - emptyAgrees: Whether empty input means yes. It must not if a third party proposes the action.
    /// - Returns: Whether the user agrees, or `nil` if there is no terminal.
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
