// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// The `allow` rules of sessions: to a peer they do not describe there is no such session.
@Suite(.timeLimit(.minutes(10)))
struct PeerRulesTests {
    static let git = "/usr/bin/git"
    private static let names = ["anyone", "of-git", "of-backup", "after-asking", "of-git-there"]
    private static let rules: [[AllowRule]] = [
        [],
        [AllowRule(executable: git)],
        [AllowRule(unit: "backup.service")],
        [AllowRule(executable: git), AllowRule(asksForConfirmation: true)],
        [AllowRule(executable: git, unit: "backup.service")],
    ]

    /// Kinds of peers, each with the sessions it sees, in the order of ``names``.
    static let kinds: [(facts: PeerIdentity?, sees: [Bool])] = [
        (facts(git, nil), [true, true, false, true, false]),
        (facts("/usr/bin/curl", "backup.service"), [true, false, true, true, false]),
        (facts(git, "backup.service"), [true, true, true, true, true]),
        (nil, [true, false, false, true, false]),
    ]

    private static func facts(_ program: String, _ unit: String?) -> PeerIdentity {
        PeerIdentity(programs: [.init(executable: program)], unit: unit, startedAt: .seconds(1))
    }

    static func agent(_ processes: ScriptedProcesses) async throws -> AgentHarness {
        try await AgentHarness.configured(commands: Person(says: 1), processes: processes) {
            configuration,
            _ in
            let settings = configuration.sessions[AgentHarness.work]
            configuration.sessions = [:]
            for (name, rules) in zip(names, rules) {
                guard let name = SessionName(name) else { continue }
                configuration.sessions[name] = settings
                configuration.sessions[name]?.rules = rules
            }
            configuration.confirmCommand = ["ask"]
        }
    }

    @Test(.holds("6"), arguments: kinds.indices)
    func `what the rules do not show is nowhere to be seen`(index: Int) async throws {
        let (facts, sees) = Self.kinds[index]
        let processes = ScriptedProcesses()
        processes.next(facts)
        let agent = try await Self.agent(processes)
        let shown = zip(Self.names, sees).filter(\.1).map(\.0)
        let peer = try agent.peer()
        let list = try JSONValue(parsing: try await peer.exchange("GET", "/v1/sessions").body.utf8)
        let listed = list.object?["sessions"]?.array?.compactMap { $0.object?["session"]?.string }
        #expect(listed == shown.sorted())
        let count = try JSONValue(parsing: try await peer.exchange("GET", "/v1").body.utf8).object?[
            "sessions"
        ]
        #expect(count?.integer == Int64(shown.count))
        let metrics = try await peer.exchange("GET", "/v1/metrics").body
        for (name, isSeen) in zip(Self.names, sees) {
            #expect(metrics.contains("\"\(name)\"") == isSeen)
            #expect(try await peer.exchange("GET", "/v1/sessions/\(name)").status == (isSeen ? 200 : 404))
            let follower = try agent.peer()
            try follower.send(SocketPeer.request("GET", "/v1/events?session=\(name)"))
            #expect(try await follower.streamHead().hasPrefix("HTTP/1.1 \(isSeen ? 200 : 404) "))
        }
        #expect(processes.count >= 1)
        Attachment.record("\(sees.count) of \(sees.count) sessions as declared", named: "figure")
        await agent.stop()
    }

    @Test(.holds("6")) func `a hidden session is answered for like one that does not exist`() async throws {
        let processes = ScriptedProcesses()
        processes.next(program: "/usr/bin/curl")
        let agent = try await Self.agent(processes)
        let peer = try agent.peer()
        for (method, rest) in [
            ("GET", ""), ("GET", "/token"), ("POST", "/refresh"), ("POST", "/logout"), ("POST", "/login"),
        ] {
            let hidden = try await peer.exchange(
                method,
                "/v1/sessions/of-git\(rest)",
                body: method == "POST" ? "{}" : nil
            )
            let unknown = try await peer.exchange(
                method,
                "/v1/sessions/no-such\(rest)",
                body: method == "POST" ? "{}" : nil
            )
            #expect(hidden.status == 404)
            #expect(hidden.body == unknown.body.replacing("no-such", with: "of-git"))
            #expect(
                hidden.head.replacing(/Content-Length: [0-9]+/, with: "")
                    == unknown.head.replacing(/Content-Length: [0-9]+/, with: "")
            )
        }
        await agent.stop()
    }

    @Test(.holds("6")) func `events of a hidden session reach only those who may see it`() async throws {
        let processes = ScriptedProcesses()
        let agent = try await Self.agent(processes)
        processes.next(program: "/usr/bin/curl")
        let outsider = try agent.peer()
        try outsider.send(SocketPeer.request("GET", "/v1/events"))
        _ = try await outsider.streamHead()
        processes.next(program: Self.git)
        let insider = try agent.peer()
        try insider.send(SocketPeer.request("GET", "/v1/events"))
        _ = try await insider.streamHead()
        try await agent.logIn(try #require(SessionName("of-git")))
        try await agent.logIn(try #require(SessionName("anyone")))
        #expect(try await insider.chunk().contains("\"of-git\""))
        #expect(try await outsider.chunk().contains("\"anyone\""))
        await agent.stop()
    }

    /// The audit log asks once for each connection, and no request waits for that.
    @Test(arguments: [true, false])
    func `nobody is examined for a request where no session has rules`(keepsAudit: Bool) async throws {
        let processes = ScriptedProcesses()
        let agent = try await AgentHarness.configured(processes: processes) { configuration, _ in
            configuration.keepsAudit = keepsAudit
        }
        try await agent.logIn()
        #expect(try await Polling.until { await agent.runtime.agent.looksUnderWay == 0 })
        let before = processes.count
        let peer = try agent.peer()
        for path in ["/v1/sessions", "/v1/sessions/work/token", "/v1/sessions/none/token"] {
            _ = try await peer.exchange("GET", path)
        }
        let looks = keepsAudit ? 1 : 0
        #expect(try await Polling.until { processes.count - before == looks })
        await agent.stop()
    }

    @Test(.holds("6"))
    func `a hidden name and an unknown one are the same work, whatever else the request says`()
        async throws
    {
        let processes = ScriptedProcesses()
        processes.next(program: "/usr/bin/curl")
        let agent = try await Self.agent(processes)
        // The file is looked at before a name is said to be unknown, hidden or not, once a second.
        _ = try await agent.peer().exchange("GET", "/v1/sessions/no-such")
        var figures: [String: Set<Int>] = [:]
        for (method, rest, body) in [
            ("GET", "", nil), ("GET", "/token", nil), ("GET", "/token?min_valid=x", nil),
            ("POST", "/refresh", "no JSON"), ("POST", "/report", "{}"), ("POST", "/login", #"{"flow":7}"#),
            ("POST", "/login/1", "{}"), ("POST", "/logout", #"{"local":"no"}"#),
        ] as [(String, String, String?)] {
            for name in ["of-git", "no-such"] {
                let before = processes.count
                let answer = try await agent.peer().exchange(
                    method,
                    "/v1/sessions/\(name)\(rest)",
                    body: body
                )
                #expect(answer.status == 404, "\(method) \(rest)")
                figures[rest, default: []].insert(processes.count - before)
            }
        }
        // One look when the peer came and one for the request, for both names.
        #expect(figures.values.allSatisfy { $0 == [2] }, "\(figures)")
        await agent.stop()
    }

    @Test(.holds("6")) func `rules that a reload brings hold at once`() async throws {
        let processes = ScriptedProcesses()
        processes.next(program: "/usr/bin/curl")
        let agent = try await Self.agent(processes)
        let peer = try agent.peer()
        #expect(try await peer.exchange("GET", "/v1/sessions/anyone").status == 200)
        let name = try #require(SessionName("anyone"))
        agent.configuration.change { $0.sessions[name]?.rules = [AllowRule(executable: "/usr/bin/git")] }
        let answer = try await peer.exchange("POST", "/v1/reload").body
        #expect(try JSONValue(parsing: answer.utf8).object?["sessions"]?.integer == 1)
        #expect(try await peer.exchange("GET", "/v1/sessions/anyone").status == 404)
        await agent.stop()
    }

    @Test func `a digest is looked at only when a rule names one`() async throws {
        let processes = ScriptedProcesses()
        let digest = String(repeating: "ab", count: 32)
        processes.next(program: Self.git, digest: digest)
        let agent = try await Self.agent(processes)
        let peer = try agent.peer()
        #expect(try await peer.exchange("GET", "/v1/sessions/of-git").status == 200)
        let name = try #require(SessionName("of-git"))
        let rule = AllowRule(executable: Self.git, digest: digest)
        agent.configuration.change { $0.sessions[name]?.rules = [rule] }
        _ = try await peer.exchange("POST", "/v1/reload")
        #expect(try await peer.exchange("GET", "/v1/sessions/of-git").status == 200)
        processes.next(program: Self.git, digest: String(repeating: "00", count: 32))
        #expect(try await agent.peer().exchange("GET", "/v1/sessions/of-git").status == 404)
        await agent.stop()
    }
}

/// Somebody who is asked for confirmation and answers at once.
struct Person: CommandRunning {
    let status: Int32

    init(says status: Int32) {
        self.status = status
    }

    func run(
        _ command: [String],
        environment: [String: String],
        timeLimit: Duration
    ) async throws(CommandFailure) -> CommandResult {
        CommandResult(status: status, standardOutput: [])
    }
}
