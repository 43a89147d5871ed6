// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// The sources of the store's passphrases.
enum VaultPassphrase {
    private static let option = "--passphrase-stdin"

    /// Reads the current passphrase of the store.
    ///
    /// From standard input it is one line, because the new passphrase may follow in the next.
    static func present(fromStandardInput: Bool = false) throws(AgentError) -> Secret {
        if fromStandardInput { return try Secret(try StandardInput.line() ?? [], of: "current passphrase") }
        return try ask()
    }

    private static func ask() throws(AgentError) -> Secret {
        try TerminalPrompts.secret("Passphrase of the store", kind: "passphrase", option: option)
    }

    /// Reads a new passphrase for the store.
    static func new(fromStandardInput: Bool) throws(AgentError) -> Secret {
        if fromStandardInput { return try StandardInput.secret("passphrase") }
        return try TerminalPrompts.newSecret(
            "New passphrase of the store",
            kind: "passphrase",
            option: option
        )
    }
}
