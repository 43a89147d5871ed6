// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `config show`, which prints the keys of a session and where each comes from.
struct ConfigShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Print the settings of a session, with those of its provider."
    )

    @Argument(help: ArgumentHelp("The session.", valueName: "name"))
    var name: String

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        let configuration = agent.endpoint.runningAgent?.configuration
        let report = try ConfigurationReport(ofAgent: configuration, about: name)
        guard let place = report.message.session, let line = place.line, let own = place.own else {
            let path = ConfigurationReport.sessionDirectory(nextTo: report.file) + "/\(name).toml"
            let problem = report.message.problems?.first { !report.isUsable || $0.file == path }
            if let problem {
                let complaint = ConfigurationReport.complaint(problem, in: report.file)
                throw AgentError(.misconfigured, complaint, remedy: .run("tokenctl config check"))
            }
            throw AgentError(
                .notFound,
                "no session is named \"\(name)\" in the configuration",
                remedy: .run("tokenctl config check")
            )
        }
        let file = place.file ?? report.file
        let provided = place.provided?.members ?? []
        let rows =
            own.members.map { Row(key: $0.name, value: DraftLine.text(of: $0.value), source: nil) }
            + provided.map { Row(key: $0.name, value: DraftLine.text(of: $0.value), source: place.provider) }
        if agent.wantsJSON { return try StandardOutput.json(json(rows, file, line)) }
        let width = rows.map(\.key.utf8.count).max() ?? 0
        try StandardOutput.line("# \(TerminalText.escaped(file)), line \(line)")
        try StandardOutput.line("[session.\(SessionDraft.key(name))]")
        for row in rows {
            let text = TextTable.padded(row.key, to: width) + " = " + row.value
            let source = row.source.map { "    # provider \($0)" } ?? ""
            try StandardOutput.line(TerminalText.escaped(text + source, longest: 8192))
        }
    }

    /// A key with its value in TOML, and the provider that sets it, or `nil` if the session does.
    private struct Row {
        let key: String
        let value: String
        let source: String?
    }

    private func json(_ rows: [Row], _ file: String, _ line: Int64) -> JSONValue {
        let keys = rows.map { row -> JSONValue in
            [
                "key": .string(row.key), "value": .string(row.value),
                "provider": row.source.map { .string($0) } ?? .null,
            ]
        }
        return [
            "session": .string(name), "file": .string(file), "line": .integer(line), "keys": .array(keys),
        ]
    }
}
