// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `vault slots`, which lists, adds and removes unlock methods.
struct VaultSlotsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "slots",
        abstract: "List, add or remove unlock methods of the store.",
        subcommands: [ListSlots.self, AddSlot.self, RemoveSlot.self],
        defaultSubcommand: ListSlots.self
    )

    struct ListSlots: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the unlock methods of the store."
        )

        @OptionGroup var agent: AgentAndOutputOptions

        func run() throws {
            let vault: VaultMessage = try agent.endpoint.message(AgentRequest(.get, "vault"))
            if agent.wantsJSON { return try StandardOutput.json(vault.json) }
            let rows = vault.slots?.map { slot in
                [
                    slot.index.map { String($0) } ?? "", slot.type?.rawValue ?? "",
                    slot.madeAt.map(DurationPhrase.rfc3339) ?? "unknown",
                    TerminalText.escaped(slot.detail ?? ""),
                ]
            }
            for line in TextTable.lines(["SLOT", "TYPE", "MADE", "DETAIL"], rows ?? []) {
                try StandardOutput.line(line)
            }
        }
    }

    struct AddSlot: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Add an unlock method to the store."
        )

        @OptionGroup var slot: VaultSlotOptions
        @OptionGroup var agent: AgentAndOutputOptions

        func run() throws {
            try slot.make(by: "slots", at: agent.endpoint)
            guard !agent.wantsJSON else { return }
            let vault: VaultMessage = try agent.endpoint.message(AgentRequest(.get, "vault"))
            // A user who adds another unlock method often intends to stop using the key file.
            guard slot.type != .keyFile,
                let index = vault.slots?.first(where: { $0.type == .keyFile })?.index
            else { return }
            try StandardOutput.line("note: the key file (slot \(index)) still unlocks the store")
            try StandardOutput.line(Remedy.run("tokenctl vault slots remove \(index)").indented)
        }
    }

    struct RemoveSlot: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Remove an unlock method of the store, except the last one."
        )

        @Argument(help: ArgumentHelp("The number of the slot in the list.", valueName: "slot"))
        var index: Int

        @Flag(
            name: .customLong("passphrase-stdin"),
            help: "Read the passphrase of the store from standard input."
        )
        var readsPassphrase = false

        @OptionGroup var proof: VaultProofOptions
        @OptionGroup var agent: AgentAndOutputOptions

        func run() throws {
            var body = AgentRequestBody<SlotRemovalRequestMembers>()
            try ProofPrompt.add(to: &body, for: agent.endpoint, proof, fromStandardInput: readsPassphrase)
            var request = AgentRequest(
                .delete,
                "vault",
                "slots",
                String(index),
                body: body.finished()
            )
            defer { request.wipeBody() }
            try agent.endpoint.send(request)
        }
    }
}
