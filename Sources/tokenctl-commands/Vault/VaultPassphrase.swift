// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// Where the store's passphrases come from.
enum VaultPassphrase {
    private static let option = "--passphrase-stdin"

    /// The passphrase that opens the store now.
    ///
    /// From standard input it is one line: the new passphrase may stand in the next.
    static func present(fromStandardInput: Bool = false) throws(AgentError) -> Secret {
        if fromStandardInput { return try Secret(try StandardInput.line() ?? [], of: "present passphrase") }
        return try ask()
    }

    private static func ask() throws(AgentError) -> Secret {
        try Question.secret("Passphrase of the store", kind: "passphrase", option: option)
    }

    /// A passphrase that shall open the store from now on.
    static func new(fromStandardInput: Bool) throws(AgentError) -> Secret {
        if fromStandardInput { return try StandardInput.secret("passphrase") }
        return try Question.newSecret("New passphrase of the store", kind: "passphrase", option: option)
    }
}
