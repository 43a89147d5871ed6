// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

@testable import AgentProtocol

/// Every member of every message, as the man page says it.
@Suite struct WireMessageTests {
    /// The messages of a section of `tokenagent-protocol(7)`, in the order of its tables.
    struct Section: Sendable, CustomTestStringConvertible {
        var heading: String
        /// The rows of each table, as `NAME TYPE`.
        var tables: [[String]]

        var testDescription: String { heading }

        init(_ heading: String, _ tables: [any AnyWireMember]...) {
            self.heading = heading
            self.tables = tables.map { $0.map { "\($0.name) \($0.typeShown)" } }
        }
    }

    private static let tokenMembers = TokenMembers.all.filter { $0.name != "id_token" }

    static let sections: [Section] = [
        Section("Errors", FailureMembers.all),
        Section("GET /v1", AgentMembers.all),
        Section(
            "GET /v1/sessions/NAME/token",
            tokenMembers.filter { $0.name != "dpop_proof" },
            tokenMembers.filter { $0.name == "dpop_proof" }
        ),
        Section("GET /v1/sessions/NAME", SessionMembers.all),
        Section("POST /v1/sessions/NAME/refresh", RefreshRequestMembers.all),
        Section(
            "POST /v1/sessions/NAME/report",
            RejectionReportRequestMembers.all,
            RejectionReportResponseMembers.all
        ),
        Section(
            "POST /v1/sessions/NAME/login",
            LoginRequestMembers.all,
            OpenURLMembers.all,
            UserCodeMembers.all,
            PromptMembers.all,
            NoticeMembers.all,
            DoneMembers.all,
            FailedMembers.all
        ),
        Section(
            "POST /v1/sessions/NAME/login/ID",
            LoginAnswerRequestMembers.all,
            LoginAnswerResponseMembers.all
        ),
        Section("POST /v1/sessions/NAME/logout", LogoutRequestMembers.all, LogoutResponseMembers.all),
        Section(
            "POST /v1/sessions/NAME/client-secret",
            ClientSecretRequestMembers.all,
            ClientSecretResponseMembers.all
        ),
        Section("GET /v1/events", EventMembers.all),
        Section("GET /v1/audit", AuditMembers.all, LostAuditLinesMembers.all),
        Section("POST /v1/restrict", RestrictMembers.all),
        Section("POST /v1/lock", LockStateMembers.all),
        Section("POST /v1/unlock", UnlockRequestMembers.all),
        Section("POST /v1/reload", ReloadRequestMembers.all, ReloadResponseMembers.all),
        Section("POST /v1/shutdown", ShutdownResponseMembers.all),
        Section("GET /v1/vault", VaultMembers.all, SlotRemovalRequestMembers.all),
        Section(
            "POST /v1/vault/init",
            SlotAdditionRequestMembers.all.filter { !$0.name.hasPrefix("unlock_") }
        ),
        Section("POST /v1/vault/passwd", PassphraseChangeRequestMembers.all),
        Section("POST /v1/vault/rekey", RekeyRequestMembers.all),
        Section("GET /v1/fleet", FleetMembers.all, FleetSessionMembers.all),
        Section("POST /v1/fleet/join", FleetSessionRequestMembers.all),
        Section("POST /v1/fleet/remove", FleetRemovalRequestMembers.all),
        Section("GET /v1/doctor", CheckMembers.all),
        Section("POST /v1/examine", ServerProbeRequestMembers.all, ServerProbeResponseMembers.all),
    ]

    @Test(arguments: sections)
    func `the man page lists the members of each message`(section: Section) throws {
        let tables = try #require(ManPage.tables[section.heading])
        #expect(tables == section.tables)
    }

    @Test func `no table of fields stands in another section`() {
        #expect(Set(ManPage.tables.keys) == Set(Self.sections.map(\.heading)))
    }

    @Test(arguments: [
        ("notes", NoteMembers.all), ("last_error", LastErrorMembers.all), ("slots", SlotMembers.all),
        ("restart", RequiredRestartMembers.all),
    ])
    func `the man page lists what stands in a member`(member: String, inner: [any AnyWireMember]) throws {
        let row = try #require(ManPage.lines.first { $0.hasPrefix(".It Cm \(member) Ta ") })
        let words = Set(row.split { " ,".contains($0) }.map(String.init))
        #expect(inner.filter { !words.contains($0.name) }.map(\.name) == [])
    }

    @Test func `the lists are members of their own`() {
        #expect(SessionsMembers.all.map(\.name) == ["sessions"])
        #expect(DoctorMembers.all.map(\.name) == ["checks"])
        #expect(ErrorResponseMembers.all.map(\.name) == ["error"])
    }

    @Test func `what was written is read`() throws {
        let failed = LoginProgress.failed(
            FailedMessage {
                $0.error = FailureMessage {
                    $0.code = .denied
                    $0.message = "no"
                    $0.retryAfter = 3
                }
            }
        )
        let line = failed.json.text
        #expect(line == #"{"event":"failed","error":{"code":"denied","message":"no","retry_after":3}}"#)
        let object = try #require(try JSONValue(parsing: line.utf8).object)
        #expect(LoginProgress(object)?.json.text == line)
    }

    @Test func `a member of another type reads as missing, and unknown ones stay`() throws {
        let text = #"{"session":7,"expires_at":"soon","hosts":["a",1],"ok":"x","later":{"a":1}}"#
        var message = SessionMessage(try #require(try JSONValue(parsing: text.utf8).object))
        #expect(message.session == nil && message.expiresAt == nil && message.hosts == nil)
        message.session = "work"
        #expect(message.json.text.contains(#""later":{"a":1}"#))
        message.session = nil
        #expect(!message.names.contains("session"))
    }
}

private enum ManPage {
    static let lines: [String] = {
        let here = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let text = File.text("/\(here)/man/tokenagent-protocol.7") ?? ""
        return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }()

    /// The rows of the tables of fields, by section; tables of parameters and words are left out.
    static let tables: [String: [[String]]] = {
        var tables: [String: [[String]]] = [:]
        var heading = ""
        var table: [String]?
        for line in lines {
            let cells = line.split(separator: " Ta ").map(String.init)
            if line.hasPrefix(".Ss ") || line.hasPrefix(".Sh ") {
                heading = String(line.dropFirst(4))
            } else if line.hasPrefix(".Bl -column") {
                table = []
            } else if line == ".El" {
                if let table, !table.isEmpty { tables[heading, default: []].append(table) }
                table = nil
            } else if line.hasPrefix(".It Em "), !line.hasPrefix(".It Em Field") {
                table = nil
            } else if cells.count >= 3, line.hasPrefix(".It Cm ") {
                table?.append("\(cells[0].dropFirst(7)) \(cells[1])")
            }
        }
        return tables
    }()
}
