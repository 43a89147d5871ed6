// SPDX-License-Identifier: MIT

import AgentProtocol

/// Where the store's passphrases come from.
enum VaultPassphrase {
    private static let option = "--passphrase-stdin"

    /// The one that opens the store now.
    static func present() throws(AgentError) -> Secret {
        try Question.secret("Passphrase of the store", kind: "passphrase", option: option)
    }

    /// One that shall open it from now on.
    static func new(fromStandardInput: Bool) throws(AgentError) -> Secret {
        if fromStandardInput { return try StandardInput.secret("passphrase") }
        return try Question.newSecret("New passphrase of the store", kind: "passphrase", option: option)
    }
}
