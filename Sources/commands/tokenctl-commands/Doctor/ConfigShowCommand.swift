// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import TOML
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
        guard let place = report.message.session, let line = place.line else {
            let own = ConfigurationReport.sessionDirectory(nextTo: report.file) + "/\(name).toml"
            let problem = report.message.problems?.first { !report.isUsable || $0.file == own }
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
        let table = try ConfigShowCommand.table(of: name, in: file)
        let own = table.entries.map { entry in
            // A secret belongs to no terminal.
            let shown = entry.key == "client_secret" ? .string("(hidden)") : entry.value.json
            return Row(key: entry.key, value: DraftLine.text(of: shown), source: nil)
        }
        let rows = own + (try provided(beside: table, report.file))
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

    /// Returns the keys of the session's provider that the session does not set itself.
    private func provided(
        beside table: TOMLTable,
        _ configuration: String
    ) throws(AgentError) -> [Row] {
        guard case .string(let name)? = table["provider"]?.content else { return [] }
        var provider = try Provider.named(name, beside: configuration)
        if case .table(let values)? = table["provider_values"]?.content {
            provider.fill(
                values.entries.compactMap { entry in
                    if case .string(let text) = entry.value.content {
                        NamedValue(name: entry.key, value: text)
                    } else {
                        nil
                    }
                }
            )
        }
        return provider.keys.filter { table[$0.name] == nil }.map { member in
            Row(
                key: member.name,
                value: DraftLine.text(of: member.value),
                source: name
            )
        }
    }

    private static func table(of name: String, in file: String) throws(AgentError) -> TOMLTable {
        guard let text = try EditedFile(file).text else {
            throw AgentError(.internal, "\(file) is missing")
        }
        let root: TOMLTable
        do throws(TOMLError) {
            root = try TOMLTable(parsing: Array(text.utf8))
        } catch {
            throw AgentError(
                .misconfigured,
                "\(file): \(error.message)",
                remedy: .run("tokenctl config check")
            )
        }
        guard case .table(let sessions)? = root["session"]?.content,
            case .table(let table)? = sessions[name]?.content
        else { throw AgentError(.notFound, "no session is named \"\(name)\" in \(file)") }
        return table
    }
}
