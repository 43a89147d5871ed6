// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `providers`, which lists the providers and shows what is known of one.
struct ProvidersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "providers",
        abstract: "List the providers whose settings are known, or show one.",
        discussion: """
            A session that names a provider has its settings, unless it sets them itself. Provider files are \
            installed with the agent; files in providers.d next to the configuration file come first.
            """
    )

    @Argument(help: ArgumentHelp("The provider to show.", valueName: "name"))
    var name: String?

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        let configuration = agent.endpoint.runningAgent?.configuration
        guard let name else { return try list(try Provider.list(beside: configuration)) }
        let provider = try Provider.named(name, beside: configuration)
        if agent.wantsJSON { return try StandardOutput.json(provider.message.json) }
        for line in provider.description {
            try StandardOutput.line(TerminalText.escaped(line, longest: 8192))
        }
    }

    private func list(_ message: ProviderListMessage) throws {
        if agent.wantsJSON { return try StandardOutput.json(message.json) }
        for line in TextTable.lines(
            ["NAME", "PROVIDER"],
            (message.providers ?? []).map(Provider.init(_:)).map {
                [$0.name, TerminalText.escaped($0.title)]
            }
        ) {
            try StandardOutput.line(line)
        }
        for problem in message.problems ?? [] {
            let line = ConfigurationReport.complaint(problem, in: problem.file ?? "")
            StandardError.write("tokenctl: \(TerminalText.escaped(line, longest: 8192))\n")
        }
    }
}

extension Provider {
    /// The contents of the file, as lines for the user.
    fileprivate var description: [String] {
        var lines = [title]
        let page = message.registrationPage.map { " at \($0)" } ?? ""
        if let client = message.client { lines.append("Register \(client)\(page).") }
        lines += (message.steps ?? []).enumerated().map { "  \($0.offset + 1). \($0.element)" }
        for value in values { lines.append("Asks for \(value.name ?? ""): \(value.question ?? "")") }
        let required = message.requiredKeys ?? []
        if !required.isEmpty { lines.append("A session also needs \(required.joined(separator: ", ")).") }
        lines.append("Settings of a session:")
        lines += (message.session?.members ?? []).map { member in
            "  \(member.name) = \(DraftLine.text(of: member.value))"
        }
        let scopes = message.scopes?.members ?? []
        if !scopes.isEmpty { lines.append("Scopes:") }
        lines += scopes.map { "  \($0.name): \($0.value.string ?? "")" }
        lines.append("Sources:")
        for fact in message.facts ?? [] {
            let keys = (fact.keys ?? []).joined(separator: ", ")
            lines.append(
                "  \(keys) (\(fact.kind ?? "assumed")): \((fact.sources ?? []).joined(separator: " "))"
            )
        }
        return lines
    }
}
