// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `audit`, which shows the programs that received tokens, and other actions.
struct AuditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Show which programs received tokens, which did not, and other actions.",
        discussion: "With --follow, new lines are printed until Ctrl-C."
    )

    @Argument(help: .sessionName)
    var session: SessionArgument?

    @Flag(help: "Print new lines as they are written.")
    var follow = false

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        var query: [(name: String, value: String)] = []
        if let session { query.append(("session", session.name)) }
        if follow { query.append(("follow", "1")) }
        var lines = try agent.endpoint.connect().lines(of: AgentRequest(.get, "audit", query: query))
        StandardOutput.endWithReader()
        do {
            try print(&lines)
        } catch let failure as AgentError where failure.code == .noAgent {
            // If the agent still runs, it has dropped this reader as too slow.
            guard agent.endpoint.connectIfThere() != nil else { throw WatchCommand.agentHasEnded }
            throw AgentError(
                .temporarilyUnavailable,
                "lines are missing from here on: they were not read in time",
                remedy: .run(again)
            )
        }
        if follow { throw WatchCommand.agentHasEnded }
    }

    /// The command that prints all lines again.
    private var again: String {
        let words = ["tokenctl audit", session?.name, follow ? "--follow" : nil]
        return words.compactMap(\.self).joined(separator: " ")
    }

    /// Prints the lines of the response.
    private func print(_ lines: inout AgentLines) throws {
        if follow {
            while let line = try lines.next() { try print(line) }
            return
        }
        // Read everything first: the log has at most a few megabytes, and a user with a pager reads for
        // longer than the agent waits.
        var held: [[UInt8]] = []
        var failure: AgentError?
        do throws(AgentError) {
            while let line = try lines.next() { held.append(line) }
        } catch {
            failure = error
        }
        for line in held { try print(line) }
        if let failure { throw failure }
    }

    private func print(_ line: [UInt8]) throws {
        guard let entry = try? JSONValue(parsing: line), let object = entry.object else {
            throw AgentError(.internal, "the agent sent a line that is not JSON")
        }
        if agent.wantsJSON {
            try StandardOutput.json(entry)
        } else {
            try StandardOutput.line(AuditCommand.text(of: object))
        }
    }

    /// Formats `line` for a user.
    static func text(of line: JSONObject) -> String {
        let entry = AuditMessage(line)
        let time = entry.time.map { DurationPhrase.rfc3339($0) } ?? ""
        if let lost = LostAuditLinesMessage(line).dropped {
            return "\(time)  \(lost) lines could not be written"
        }
        let kind = entry.kind == "id" ? "ID token" : nil
        let action = entry.action.map { String($0.map { $0 == "_" ? " " : $0 }) }
        let words = [
            time, entry.decision, entry.session, kind ?? action,
            entry.pid.map { "process \($0)" }, entry.uid.map { "user \($0)" },
            entry.by.map { "by \($0 == "signal" ? "a signal" : "the agent itself")" },
            entry.exe ?? entry.name.map { "calls itself \($0)" },
            entry.callers?.first.map { "started by \($0)" }
                ?? entry.claimedCaller.map { "says it was started by \($0)" },
            entry.unit, entry.socket.map { "through \($0)" },
            entry.listener.map { "through \($0)" },
            entry.file.map { "in \($0)" },
            entry.host.map { "for \($0)" },
        ]
        return words.compactMap { $0.map { TerminalText.escaped($0) } }.joined(separator: "  ")
    }
}
