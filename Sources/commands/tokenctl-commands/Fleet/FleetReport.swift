// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Glibc
import Text

/// The agent's report about its fleet, for display.
struct FleetReport {
    let message: FleetMessage

    /// Sends `request` to the agent, which queries etcd, and prints the response.
    ///
    /// - Throws: ``ExitCode`` 5 if etcd is unavailable.
    static func show(answerTo request: AgentRequest, of agent: AgentAndOutputOptions) throws {
        let message: FleetMessage = try agent.endpoint.message(request, timeout: .seconds(60))
        try FleetReport(message: message).show(asJSON: agent.wantsJSON)
    }

    private func show(asJSON wantsJSON: Bool) throws {
        if wantsJSON {
            try StandardOutput.json(message.json)
        } else {
            for line in lines { try StandardOutput.line(line) }
        }
        guard let storeError = message.message else { return }
        let failure = AgentError(.temporarilyUnavailable, storeError, remedy: message.remedy)
        throw ExitCode(wantsJSON ? failure.code.exitStatus : FailureReport.tell(failure))
    }

    private var lines: [String] {
        let notes = (message.notes ?? []).map { TerminalText.escaped($0, longest: 500) }
        return notes + [heading, ""] + table(sessions) + spaced(table(hosts)) + spaced(table(members))
            + troubles
    }

    private var heading: String {
        let clock = message.clockAhead.map { ahead in
            ahead == 0 ? "" : "; the clock here is \(abs(ahead)) s \(ahead > 0 ? "ahead" : "behind")"
        }
        return "fleet \(shown(message.name)), this host is \(shown(message.host)), a \(shown(message.role))"
            + (clock ?? "")
    }

    private typealias Table = (header: [String], rows: [[String]])

    private var sessions: Table {
        let header = [
            "SESSION", "STATE", "GENERATION", "BEHIND", "REFRESHED BY", "AGO", "UNANSWERED", "LATE",
        ]
        let rows = (message.sessions ?? []).map { session in
            [
                shown(session.session), shown(session.state), number(session.generation),
                session.behind == 0 ? "" : number(session.behind), shown(session.refreshedBy),
                ago(session.refreshedAt),
                shown(session.attemptBy) + (session.attemptRefused == true ? " (refused)" : ""),
                session.late == 0 ? "" : number(session.late),
            ]
        }
        return (header, rows)
    }

    private var hosts: Table {
        let rows = (message.hosts ?? []).map { host in
            [
                shown(host.host) + (host.isThis == true ? " (this)" : ""), shown(host.id), shown(host.role),
                shown(host.version), ago(host.seenAt),
            ]
        }
        return (["HOST", "NUMBER", "ROLE", "VERSION", "SEEN AGO"], rows)
    }

    private var members: Table {
        let rows = (message.members ?? []).map { member in
            [
                shown(member.endpoint), state(of: member), shown(member.version),
                member.size.map { "\($0 >> 10) KiB" } ?? "",
            ]
        }
        return (["ETCD", "STATE", "VERSION", "SIZE"], rows)
    }

    private func state(of member: EtcdMemberMessage) -> String {
        guard member.works == true else { return member.refused == true ? "refused" : "away" }
        return member.message == nil ? "ok" : "trouble"
    }

    /// The problems of single sessions and members, with remedies.
    private var troubles: [String] {
        let sessions = (message.sessions ?? []).compactMap { session in
            session.message.map { "\(shown(session.session)): \(storeError($0, session.remedy))" }
        }
        let members = (message.members ?? []).compactMap { member in
            member.message.map { "\(shown(member.endpoint)): \(storeError($0, member.remedy))" }
        }
        return spaced(sessions + members)
    }

    private func storeError(_ text: String, _ remedy: Remedy?) -> String {
        let advice = remedy.map {
            " " + Remedy($0.kind, TerminalText.escaped($0.text, longest: 500)).parenthesized
        }
        return TerminalText.escaped(text, longest: 500) + (advice ?? "")
    }

    private func table(_ table: Table) -> [String] {
        table.rows.isEmpty ? [] : TextTable.lines(table.header, table.rows)
    }

    private func spaced(_ lines: [String]) -> [String] { lines.isEmpty ? [] : [""] + lines }

    private func shown(_ text: String?) -> String { TerminalText.escaped(text ?? "", longest: 120) }

    private func number(_ number: Int64?) -> String { number.map { String($0) } ?? "" }

    private func ago(_ time: Int64?) -> String {
        time.map { DurationPhrase.short(max(0, Int64(Glibc.time(nil)) - $0)) } ?? ""
    }
}
