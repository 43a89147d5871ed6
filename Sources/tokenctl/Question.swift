// SPDX-License-Identifier: MIT

import AgentProtocol

/// Asks a person for a secret at the terminal.
enum Question {
    /// Asks once.
    ///
    /// - Parameters:
    ///   - prompt: without colon and blank.
    ///   - kind: what it is, for error messages: `passphrase`.
    ///   - option: what to use where there is no terminal: `--passphrase-stdin`.
    /// - Returns: what was typed.
    /// - Throws: ``AgentError``, `badRequest` if there is no terminal or the answer can not be one.
    static func secret(_ prompt: String, kind: String, option: String) throws(AgentError) -> Secret {
        guard let terminal = Terminal() else {
            throw AgentError(
                .badRequest,
                "there is no terminal to ask for the \(kind)",
                remedy: "use \(option)"
            )
        }
        guard let bytes = try terminal.ask(TerminalText.escaped(prompt) + ": ", echo: false) else {
            throw AgentError(.internal, "no \(kind) was given")
        }
        return try Secret(bytes, of: kind)
    }

    /// Asks twice, for a secret that nobody could correct later.
    static func newSecret(_ prompt: String, kind: String, option: String) throws(AgentError) -> Secret {
        let first = try secret(prompt, kind: kind, option: option)
        let second = try secret(prompt + ", again", kind: kind, option: option)
        guard first == second else { throw AgentError(.badRequest, "the two answers differ") }
        return first
    }

    /// Asks for something that may be seen, at the terminal or else on standard input.
    static func line(_ prompt: String) throws(AgentError) -> [UInt8] {
        let answer =
            if let terminal = Terminal() {
                try terminal.ask(TerminalText.escaped(prompt) + ": ", echo: true)
            } else {
                try StandardInput.line()
            }
        guard let answer, answer.isEmpty == false else { throw AgentError(.internal, "no answer was given") }
        return answer
    }
}
