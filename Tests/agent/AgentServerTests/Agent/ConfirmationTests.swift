// SPDX-License-Identifier: MIT

import Glibc
import Synchronization
import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// Sessions whose tokens require a confirmation by the user.
@Suite(.timeLimit(.minutes(10)))
struct ConfirmationTests {
    static let token = "/v1/sessions/work/token"

    static func agent(_ person: BusyPerson) async throws -> AgentHarness {
        let agent = try await AgentHarness.configured(commands: person) { configuration, directory in
            configuration.confirmCommand = ["ask", "nicely"]
            configuration.sockets = [
                RestrictedSocket(path: directory.path("run/remote.sock"), sessions: [AgentHarness.work])
            ]
        }
        // The login comes before the rule, so it needs no confirmation.
        try await agent.logIn()
        agent.configuration.change { configuration in
            configuration.sessions[AgentHarness.work]?.rules = [AllowRule(asksForConfirmation: true)]
        }
        _ = try await agent.peer().exchange("POST", "/v1/reload")
        return agent
    }

    @Test(.holds("23")) func `a token is given out when the person agrees, and each use is asked for`()
        async throws
    {
        let person = BusyPerson()
        let agent = try await Self.agent(person)
        let peer = try agent.peer()
        for _ in 0..<3 {
            try peer.send(SocketPeer.request("GET", Self.token))
            let question = await person.nextQuestion()
            #expect(question.command == ["ask", "nicely"])
            #expect(question.environment["TOKENAGENT_SESSION"] == "work")
            #expect(question.environment["TOKENAGENT_PEER_PID"] == "\(getpid())")
            #expect(question.environment["TOKENAGENT_QUESTION"]?.contains("work") == true)
            #expect(!question.environment.values.contains { $0.contains("token-1") })
            question.answer(.success(CommandResult(status: 0, standardOutput: [])))
            #expect(try await peer.answer().body.contains("token-1"))
        }
        #expect(
            try await agent.auditLines().map { $0["decision"]?.string } == ["served", "served", "served"]
        )
        await agent.stop()
    }

    @Test func `nobody is asked about a refusal that calls for no other token`() async throws {
        let person = BusyPerson()
        let agent = try await Self.agent(person)
        let peer = try agent.peer()
        let none = try await peer.exchange(
            "POST",
            "/v1/sessions/work/report",
            body: #"{"token":"token-1","status":403}"#
        )
        #expect(none.status == 200 && none.body.contains("\"none\""))
        #expect(person.count == 0)
        let over = #"{"token":"token-1","status":403,"body":"{\"code\":\"token_revoked\"}"}"#
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/report", body: over))
        await person.nextQuestion().answer(.success(CommandResult(status: 0, standardOutput: [])))
        #expect(try await peer.answer().status == 401)
        await agent.stop()
    }

    @Test(.holds("23"), arguments: ["deny", "timeout", "no command"])
    func `without a yes there is no token`(reason: String) async throws {
        let person = BusyPerson()
        let agent = try await Self.agent(person)
        if reason == "no command" {
            agent.configuration.change { $0.confirmCommand = [] }
            _ = try await agent.peer().exchange("POST", "/v1/reload")
        }
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", Self.token))
        if reason == "deny" {
            await person.nextQuestion().answer(.success(CommandResult(status: 1, standardOutput: [])))
        } else if reason == "timeout" {
            await person.nextQuestion().answer(.failure(CommandFailure(message: "ask took too long")))
        }
        let answer = try await peer.answer()
        #expect(answer.status == 403)
        #expect(answer.body.contains("\"denied\""))
        #expect(!answer.body.contains("token-1"))
        #expect(try await agent.auditLines().map { $0["decision"]?.string } == ["denied"])
        await agent.stop()
    }

    @Test(.holds("23")) func `one question serves all requests of a process while it is open`() async throws {
        let person = BusyPerson()
        let agent = try await Self.agent(person)
        let peers = try (0..<20).map { _ in
            let peer = try agent.peer()
            try peer.send(SocketPeer.request("GET", Self.token))
            return peer
        }
        let question = await person.nextQuestion()
        #expect(try await Polling.until { await agent.runtime.agent.unconfirmedCount == 20 })
        question.answer(.success(CommandResult(status: 0, standardOutput: [])))
        for peer in peers { #expect(try await peer.answer().body.contains("token-1")) }
        #expect(person.count == 1)
        Attachment.record("20 requests, \(person.count) question", named: "figure")
        await agent.stop()
    }

    @Test(.holds("21")) func `other tokens and other sockets are other questions`() async throws {
        let person = BusyPerson()
        let agent = try await Self.agent(person)
        let first = try agent.peer()
        try first.send(SocketPeer.request("GET", Self.token))
        _ = await person.nextQuestion()
        let second = try SocketPeer(agent.directory.path("run/remote.sock"))
        try second.send(SocketPeer.request("GET", Self.token))
        let question = await person.nextQuestion()
        #expect(question.environment["TOKENAGENT_PEER_SOCKET"] == agent.directory.path("run/remote.sock"))
        #expect(question.environment["TOKENAGENT_QUESTION"]?.contains("remote.sock") == true)
        let third = try agent.peer()
        try third.send(SocketPeer.request("GET", Self.token + "?scope=narrow"))
        _ = await person.nextQuestion()
        #expect(person.count == 3)
        agent.stopSoon()
    }

    @Test func `a request that does not wait is refused, and too many questions are not asked`() async throws
    {
        let person = BusyPerson()
        let agent = try await Self.agent(person)
        #expect(try await agent.peer().exchange("GET", Self.token + "?timeout=0").status == 403)
        #expect(person.count == 0)
        let waiting = try (0..<4).map { number in
            let peer = try agent.peer()
            try peer.send(SocketPeer.request("GET", Self.token + "?scope=s\(number)"))
            return peer
        }
        #expect(try await Polling.until { person.count == 4 })
        let answer = try await agent.peer().exchange("GET", Self.token)
        #expect(answer.status == 503)
        #expect(answer.head.contains("Retry-After"))
        // A lock ends all waiting requests.
        await agent.runtime.agent.lock()
        for peer in waiting { #expect(try await peer.answer().status == 423) }
        agent.stopSoon()
    }

    @Test(.holds("23")) func `a process with open questions keeps no other from its first one`() async throws
    {
        let person = BusyPerson()
        let agent = try await Self.agent(person)
        let greedy = try (0..<4).map { number in
            let peer = try agent.peer()
            try peer.send(SocketPeer.request("GET", Self.token + "?scope=s\(number)"))
            return peer
        }
        #expect(try await Polling.until { person.count == 4 })
        let curl = ["curl", "-s", "--unix-socket", agent.path, "http://tokenagent\(Self.token)"]
        let other = try Program(curl, environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"])
        #expect(try await Polling.until { person.count == 5 })
        var asked: [BusyPerson.TerminalPrompts] = []
        for _ in 0..<5 { asked.append(await person.nextQuestion()) }
        #expect(asked.last?.environment["TOKENAGENT_PEER_PID"] == "\(other.pid)")
        asked.last?.answer(.success(CommandResult(status: 0, standardOutput: [])))
        #expect(try await other.finish().standardOutput.contains("token-1"))
        // Only the first process is limited.
        #expect(try await agent.peer().exchange("GET", Self.token).status == 503)
        #expect(greedy.count == 4)
        agent.stopSoon()
    }

    @Test(.holds("23")) func `a forced refresh and a report ask as well`() async throws {
        let person = BusyPerson()
        let agent = try await Self.agent(person)
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/refresh", body: "{}"))
        await person.nextQuestion().answer(.success(CommandResult(status: 1, standardOutput: [])))
        #expect(try await peer.answer().status == 403)
        let report = #"{"token":"token-1","status":401}"#
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/report", body: report))
        await person.nextQuestion().answer(.success(CommandResult(status: 1, standardOutput: [])))
        #expect(try await peer.answer().status == 403)
        #expect(agent.serving.refreshCount == 0)
        await agent.stop()
    }

    @Test func `a peer that leaves while the person thinks gets nothing and harms nothing`() async throws {
        let person = BusyPerson()
        let agent = try await Self.agent(person)
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", Self.token))
        let question = await person.nextQuestion()
        peer.leave()
        #expect(try await Polling.until { await agent.runtime.agent.unconfirmedCount == 0 })
        question.answer(.success(CommandResult(status: 0, standardOutput: [])))
        #expect(try await agent.auditLines().isEmpty)
        await agent.stop()
    }
}

extension SessionAgent {
    /// The number of requests that wait for the user's confirmation.
    fileprivate var unconfirmedCount: Int { requests.waitingForPerson }
}

/// A user played by the test: every prompt waits until the test answers it.
final class BusyPerson: CommandRunning {
    struct TerminalPrompts: Sendable {
        let command: [String]
        let environment: [String: String]
        fileprivate let continuation: CheckedContinuation<Result<CommandResult, CommandFailure>, Never>

        func answer(_ result: Result<CommandResult, CommandFailure>) {
            continuation.resume(returning: result)
        }
    }

    private let questions: AsyncStream<TerminalPrompts>
    private let arrival: AsyncStream<TerminalPrompts>.Continuation
    private let asked = Mutex(0)

    init() {
        (questions, arrival) = AsyncStream.makeStream()
    }

    /// The number of prompts so far, answered or not.
    var count: Int { asked.withLock(\.self) }

    func nextQuestion() async -> TerminalPrompts {
        for await question in questions { return question }
        preconditionFailure("nobody asks any more")
    }

    func run(
        _ command: [String],
        environment: [String: String],
        timeLimit: Duration
    ) async throws(CommandFailure) -> CommandResult {
        let result = await withCheckedContinuation { continuation in
            asked.withLock { $0 += 1 }
            arrival.yield(
                TerminalPrompts(command: command, environment: environment, continuation: continuation)
            )
        }
        return try result.get()
    }
}
