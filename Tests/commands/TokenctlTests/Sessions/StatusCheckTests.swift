// SPDX-License-Identifier: MIT

import AgentProtocol
import TestSupport
import Testing

@testable import tokenctl_commands

struct StatusCheckTests {
    private static func session(
        _ state: String,
        _ reason: String? = nil,
        left: Int64? = nil,
        ends: Bool = false
    )
        -> SessionMessage
    {
        SessionMessage {
            $0.state = state
            $0.kind = "oidc"
            $0.reason = reason
            $0.expiresIn = left
            if ends { $0.endsSoon = true }
        }
    }

    private static let ready = session("ready", left: 60)
    private static let ending = session("ready", left: 60, ends: true)
    private static let over = session("logged_out", "grant_dead")
    private static let unused = session("logged_out", "never_logged_in")
    private static let stuck = session("suspended", left: 60)

    private static let single: [(SessionMessage, Int32)] = [
        (ready, 0), (ending, 9), (over, 4), (unused, 4), (stuck, 5),
        (session("logged_out", "logged_out"), 4),
        (session("logging_in", "grant_dead"), 4),
        (session("retrying", left: 60), 0),
        (session("retrying", left: 0), 5),
        (session("retrying"), 5),
        (session("refreshing", left: 0), 0),
    ]

    @Test func `each state has its exit status`() {
        for (session, status) in Self.single {
            #expect(
                StatusCheck.exitStatus(of: [session], isEachMeant: true) == status,
                "\(session.json.text)"
            )
        }
    }

    @Test func `of several the first that applies counts, and unused ones do not`() {
        let leftByPerson = Self.session("logged_out", "logged_out")
        func status(_ sessions: SessionMessage...) -> Int32 {
            StatusCheck.exitStatus(of: sessions, isEachMeant: false)
        }
        #expect(status() == 0)
        #expect(status(Self.ready, Self.unused) == 0)
        #expect(status(Self.unused, leftByPerson) == 0)
        #expect(status(Self.ending, Self.stuck) == 5)
        #expect(status(Self.stuck, Self.over) == 4)
        #expect(status(Self.ready, Self.ending) == 9)
        #expect(status(Self.unused, Self.over) == 4)
    }

    @Test func `a socket that tells no reasons turns no prompt red for sessions that nobody uses`() {
        var session = SessionMessage()
        session.state = "logged_out"
        #expect(StatusCheck.exitStatus(of: [session], isEachMeant: true) == 4)
        #expect(StatusCheck.exitStatus(of: [session], isEachMeant: false) == 0)
        #expect(StatusCheck.exitStatus(of: [session, Self.stuck], isEachMeant: false) == 5)
    }

    @Test func `for a session that is made from another one the login to that one counts`() {
        func named(_ name: String, _ reason: String, of source: String? = nil) -> SessionMessage {
            var session = Self.session("logged_out", reason)
            session.session = name
            session.source = source
            return session
        }
        let made = named("deploy", "source_ended", of: "work")
        func status(_ sessions: SessionMessage..., isEachMeant: Bool = false) -> Int32 {
            StatusCheck.exitStatus(of: sessions, isEachMeant: isEachMeant)
        }
        #expect(status(made, named("work", "never_logged_in")) == 0)
        #expect(status(made, named("work", "grant_dead")) == 4)
        #expect(status(made, isEachMeant: true) == 4)
        // A session that is not shown does not change the status.
        #expect(status(made) == 4)
        // A program that prints tokens requires the user itself.
        #expect(status(named("az", "source_ended")) == 4)
    }

    @Test func `nothing is printed, whatever happens`() async throws {
        let missing = TokenctlRun.failure("not_found", 404)
        for arguments in [["status", "--check", "x"], ["status", "--check", "x", "--json"]] {
            let result = try await TokenctlRun(responding: { _ in missing }).run(arguments)
            #expect(result.all == (7, "", ""))
        }
        let locked = TokenctlRun.failure("locked", 423)
        #expect(try await TokenctlRun(responding: { _ in locked })("status", "--check").all == (6, "", ""))
    }

    @Test func `no agent is started`() async throws {
        let directory = try TemporaryDirectory()
        let result = try await Program.run(
            [BuiltPrograms.client, "status", "--check"],
            environment: ["TOKENAGENT_SOCK": directory.path("none.sock"), "HOME": directory.path]
        )
        #expect(result.all == (3, "", ""))
    }
}
