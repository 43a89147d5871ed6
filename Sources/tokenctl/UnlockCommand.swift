// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import StrictJSON

/// Gives the agent its keys back.
struct UnlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Unlock the agent.",
        discussion: """
            Asks for the passphrase if the store has one; a key file, a command or a systemd credential unlocks \
            it without.
            """
    )

    @Flag(name: .customLong("passphrase-stdin"), help: "Read the passphrase from standard input.")
    var readsPassphrase = false

    @OptionGroup var agent: AgentOptions

    func run() throws {
        var body = JSONBody()
        if readsPassphrase {
            body.add("passphrase", secret: try StandardInput.secret("passphrase"))
        } else if try needsPassphrase() {
            body.add("passphrase", secret: try VaultPassphrase.present())
        }
        var request = AgentRequest(.post, "unlock", body: body.finished())
        defer { request.wipeBody() }
        _ = try agent.endpoint.object(request)
    }

    /// Whether a passphrase is the only way in.
    private func needsPassphrase() throws(AgentError) -> Bool {
        let vault = try agent.endpoint.object(AgentRequest(.get, "vault"))
        guard vault["state"]?.string != "unlocked" else { return false }
        let types = vault["slots"]?.array?.compactMap { $0.object?["type"]?.string } ?? []
        return types.allSatisfy { $0 == "passphrase" }
    }
}
