// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import Text

/// Has the agent read its configuration again.
struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Read the configuration again and say what has changed.",
        discussion: "A configuration with a mistake changes nothing."
    )

    @OptionGroup var agent: AgentOptions

    func run() throws {
        let answer = try agent.endpoint.object(AgentRequest(.post, "reload"))
        if agent.wantsJSON { return try StandardOutput.json(.object(answer)) }
        for line in ReloadReport(answer).lines {
            try StandardOutput.line(TerminalText.escaped(line, longest: 8192))
        }
    }
}

/// What a reload has changed, or would change.
struct ReloadReport {
    private let object: JSONObject

    init(_ object: JSONObject) {
        self.object = object
    }

    /// The configuration file that the agent reads.
    var file: String { object["file"]?.string ?? "" }

    /// A line for each difference, and for what only a restart takes over.
    var differences: [String] {
        let changes = ["added", "removed", "changed"].flatMap { kind in
            (object[kind]?.array?.compactMap(\.string) ?? []).map { "\(TextTable.padded(kind, to: 8)) \($0)" }
        }
        let late = (object["restart"]?.array?.compactMap(\.object) ?? []).map { item in
            "needs a restart of the agent: \(item["key"]?.string ?? ""): \(item["reason"]?.string ?? "")"
        }
        return changes + late
    }

    var lines: [String] {
        let count = object["sessions"]?.integer ?? 0
        let summary = "\(file): \(count) session\(count == 1 ? "" : "s")"
        return differences.isEmpty ? ["\(summary), nothing has changed"] : [summary] + differences
    }
}
