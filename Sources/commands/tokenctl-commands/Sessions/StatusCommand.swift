// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `status`, which shows the state of one session or of all.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the state of a session, or of all.",
        discussion: """
            With --watch, the display is kept up to date until Ctrl-C. With --check, nothing is printed and \
            no agent is started. The exit status is 6 if the agent is locked, otherwise 4 if a login is \
            required, otherwise 5 if refreshes fail, otherwise 9 if a login ends within warn_before, \
            otherwise 0.
            """
    )

    @Argument(help: .sessionName)
    var session: SessionArgument?

    @Flag(help: "Keep the display up to date.")
    var watch = false

    @Flag(help: "Print nothing, and report the state by the exit status.")
    var check = false

    @OptionGroup var agent: AgentAndOutputOptions

    func validate() throws {
        guard !check || !watch else { throw ValidationError("--check cannot be combined with --watch") }
    }

    func run() throws {
        if check { throw ExitCode(StatusCheck(session: session?.name, endpoint: agent.endpoint).exitStatus) }
        let report = StatusReport(session: session?.name, isJSON: agent.wantsJSON, endpoint: agent.endpoint)
        if watch {
            try StatusWatch(report: report).run()
        } else {
            try StandardOutput.write(try report.text())
        }
    }
}

/// A snapshot of one session or of all, as text.
struct StatusReport {
    var session: String?
    var isJSON: Bool
    var endpoint: AgentEndpoint

    /// Requests the state from the agent and formats it, with a final line feed.
    func text() throws(AgentError) -> [UInt8] {
        guard let session else {
            let all: SessionsMessage = try endpoint.message(AgentRequest(.get, "sessions"))
            return text(all.json, lines(all.sessions ?? []))
        }
        do {
            let one: SessionMessage = try endpoint.message(AgentRequest(.get, "sessions", session))
            return text(one.json, lines(one))
        } catch {
            throw error.about(session)
        }
    }

    private func text(_ json: JSONValue, _ lines: @autoclosure () -> [String]) -> [UInt8] {
        isJSON ? TerminalText.ascii(json) + [0x0A] : lines().flatMap { $0.utf8 + [0x0A] }
    }

    private func lines(_ session: SessionMessage) -> [String] {
        let row = DisplayedSession(session)
        let details = row.details
        let width = details.map(\.name.utf8.count).max() ?? 0
        let lines = details.map { TextTable.padded($0.name, to: width) + "  " + $0.value }
        return lines + [row.remedy].compactMap(\.self)
    }

    private func lines(_ sessions: [SessionMessage]) -> [String] {
        guard !sessions.isEmpty else { return SelectableSessions.none }
        return TextTable.lines(DisplayedSession.columns, sessions.map { DisplayedSession($0).row })
    }
}

extension AgentEndpoint {
    /// Requests all sessions that this user may see.
    func sessions() throws(AgentError) -> [SessionMessage] {
        let answer: SessionsMessage = try message(AgentRequest(.get, "sessions"))
        return answer.sessions ?? []
    }
}
