// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `unlock`, which unlocks the agent.
struct UnlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Unlock the agent.",
        discussion: """
            Prompts for the passphrase if the store has one; \
            \(SlotKind.alternatives { $0.opensByItself ? $0.traits.phrase : nil }) unlocks it without a prompt.
            """
    )

    @Flag(name: .customLong("passphrase-stdin"), help: "Read the passphrase from standard input.")
    var readsPassphrase = false

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        if readsPassphrase { return try unlock(with: try StandardInput.secret("passphrase")) }
        do {
            // Unlock methods without a user are tried first; the agent reports when only a passphrase is
            // left.
            try agent.endpoint.send(AgentRequest(.post, "unlock"))
        } catch {
            guard error.code == .locked else { throw error }
            // Another remedy than this command: an unlock method failed, and a passphrase is the other way.
            if error.remedy != .run("tokenctl unlock") { FailureReport.tell(error) }
            try unlock(with: try VaultPassphrase.present())
        }
    }

    private func unlock(with passphrase: consuming Secret) throws(AgentError) {
        var body = AgentRequestBody<UnlockRequestMembers>()
        body.add(\.passphrase, secret: passphrase)
        var request = AgentRequest(.post, "unlock", body: body.finished())
        defer { request.wipeBody() }
        try agent.endpoint.send(request)
    }
}
