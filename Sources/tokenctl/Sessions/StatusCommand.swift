// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import Text

/// Shows the state of one session or of all.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the state of a session, or of all.",
        discussion: "With --watch the display is kept up to date until Ctrl-C."
    )

    @Argument(help: .sessionName)
    var session: SessionArgument?

    @Flag(help: "Keep the display up to date.")
    var watch = false

    @OptionGroup var agent: AgentOptions

    func run() throws {
        let report = StatusReport(session: session?.name, isJSON: agent.wantsJSON, endpoint: agent.endpoint)
        if watch {
            try StatusWatch(report: report).run()
        } else {
            try StandardOutput.write(try report.text())
        }
    }
}

/// One snapshot of one session or of all, as text.
struct StatusReport {
    var session: String?
    var isJSON: Bool
    var endpoint: AgentEndpoint

    /// Asks the agent and renders its answer, with a line feed at the end.
    func text() throws(AgentError) -> [UInt8] {
        let object: JSONObject
        if let session {
            do {
                object = try endpoint.object(AgentRequest(.get, "sessions", session))
            } catch {
                throw error.about(session)
            }
        } else {
            object = try endpoint.object(AgentRequest(.get, "sessions"))
        }
        return isJSON ? TerminalText.ascii(.object(object)) + [0x0A] : Array(rendered(object).utf8)
    }

    private func rendered(_ object: JSONObject) -> String {
        let lines: [String]
        if session != nil {
            let details = SessionRow(object).details
            let width = details.map(\.name.utf8.count).max() ?? 0
            lines = details.map { TextTable.padded($0.name, to: width) + "  " + $0.value }
        } else {
            let rows = object.sessions.map { SessionRow($0).row }
            lines =
                rows.isEmpty
                ? ["no sessions are configured; see: tokenctl config example"]
                : TextTable.lines(SessionRow.columns, rows)
        }
        return lines.map { $0 + "\n" }.joined()
    }
}

extension JSONObject {
    /// The objects of the member `sessions`.
    var sessions: [JSONObject] { self["sessions"]?.array?.compactMap(\.object) ?? [] }
}
