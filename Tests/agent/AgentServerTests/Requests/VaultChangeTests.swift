// SPDX-License-Identifier: MIT

import Synchronization
import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// Changes of the unlock methods, which require an unlock proof and slow down guessing.
@Suite(.timeLimit(.minutes(10)))
struct VaultChangeTests {
    static let slot = #"{"type":"passphrase","passphrase":"mine""#
    static let changes = [
        ("POST", "/v1/vault/init", slot), ("POST", "/v1/vault/slots", slot),
        ("DELETE", "/v1/vault/slots/0", "{"),
        ("POST", "/v1/vault/rekey", "{"),
    ]

    private func body(_ beginning: String, _ member: String) -> String {
        beginning + (beginning == "{" || member.isEmpty ? "" : ",") + member + "}"
    }

    @Test(.holds("52"), arguments: changes)
    func `without a secret of the store nothing is changed`(
        method: String,
        target: String,
        members: String
    ) async throws {
        let agent = try await AgentHarness()
        let answer = try await agent.peer().exchange(method, target, body: body(members, ""))
        #expect(answer.status == 403 && answer.body.contains("passphrase"), "\(answer.body)")
        let wrong =
            [#""unlock_key":"00""#] + (target.hasSuffix("rekey") ? [] : [#""unlock_passphrase":"no""#])
        for proof in wrong {
            let refused = try await agent.peer().exchange(method, target, body: body(members, proof))
            #expect(refused.status == 403, "\(refused.body)")
            await agent.advance(by: .seconds(60))
        }
        #expect(agent.store.proofs == wrong.count)
        #expect(agent.observed.names.isEmpty)
        await agent.stop()
    }

    @Test func `an empty body removes nothing either`() async throws {
        let agent = try await AgentHarness()
        let answer = try await agent.peer().exchange("DELETE", "/v1/vault/slots/0")
        #expect(answer.status == 403 && agent.store.proofs == 0)
        await agent.stop()
    }

    @Test func `a key that is no hexadecimal text is a mistake, not a guess`() async throws {
        let agent = try await AgentHarness()
        for key in ["0", "0g", "６", "0 1"] {
            let body = body(Self.slot, #""unlock_key":"\#(key)""#)
            #expect(try await agent.peer().exchange("POST", "/v1/vault/slots", body: body).status == 400)
        }
        #expect(agent.store.proofs == 0)
        await agent.stop()
    }

    @Test func `a change is told to those who listen`() async throws {
        let agent = try await AgentHarness()
        let events = try agent.peer()
        try events.send(SocketPeer.request("GET", "/v1/events"))
        _ = try await events.streamHead()
        let body = body(Self.slot, #""unlock_passphrase":"open sesame""#)
        #expect(try await agent.peer().exchange("POST", "/v1/vault/slots", body: body).status == 200)
        let event = try #require(try JSONValue(parsing: await events.chunk().utf8).object)
        #expect(event["event"] == "vault_changed" && event["reason"] == "slot_added")
        await agent.stop()
    }

    @Test(arguments: [true, false])
    func `where all slots open by themselves a person is asked`(agrees: Bool) async throws {
        let person = AskedPerson(agrees: agrees)
        let agent = try await AgentHarness(
            commands: person,
            prepare: { store, _ in store.opensByItself() },
            configure: { configuration, _ in configuration.confirmCommand = ["ask"] }
        )
        let peer = try agent.peer()
        let status = try await peer.exchange("GET", "/v1/vault")
        #expect(status.body.contains(#""proof":"confirm""#), "\(status.body)")
        let answer = try await peer.exchange("POST", "/v1/vault/slots", body: body(Self.slot, ""))
        #expect(answer.status == (agrees ? 200 : 403), "\(answer.body)")
        #expect(agent.store.proofs == (agrees ? 1 : 0))
        #expect(person.questions.count == 1)
        #expect(person.questions.first?.contains("add an unlock method") == true)
        // A request with an unlock proof needs no confirmation.
        let shown = body(Self.slot, #""unlock_key":"6b6579""#)
        #expect(try await peer.exchange("POST", "/v1/vault/slots", body: shown).status == 200)
        #expect(person.questions.count == 1)
        await agent.stop()
    }

    @Test func `with nobody to ask the content of the key file is the secret`() async throws {
        let agent = try await AgentHarness(prepare: { store, _ in store.opensByItself() })
        let peer = try agent.peer()
        let status = try await peer.exchange("GET", "/v1/vault")
        #expect(status.body.contains(#""proof":"keyfile""#), "\(status.body)")
        let refused = try await peer.exchange("POST", "/v1/vault/slots", body: body(Self.slot, ""))
        #expect(refused.status == 403 && refused.body.contains("key file"), "\(refused.body)")
        let shown = body(Self.slot, #""unlock_key":"6b6579""#)
        #expect(try await peer.exchange("POST", "/v1/vault/slots", body: shown).status == 200)
        await agent.stop()
    }

    // MARK: Guessing

    private static let wrong = #"{"old":"no","new":"x"}"#
    private static let right = #"{"old":"open sesame","new":"x"}"#

    @Test(.holds("52")) func `while a passphrase is tried a refresh is asked for, stored and answered`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn()
        agent.store.delayPassphrases()
        let guess = try agent.peer()
        try guess.send(SocketPeer.request("POST", "/v1/vault/passwd", body: Self.wrong))
        #expect(try await Polling.until { agent.store.proofs == 1 })
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/refresh"))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        let answer = try await peer.answer()
        #expect(answer.status == 200 && answer.body.contains("token-2"), "\(answer.body)")
        agent.store.finishPassphrase()
        #expect(try await guess.answer().status == 403)
        await agent.stop()
    }

    @Test(.holds("52")) func `guesses wait for one another, and longer after each wrong one`() async throws {
        let agent = try await AgentHarness()
        for number in 1...3 {
            let peer = try agent.peer()
            try peer.send(SocketPeer.request("POST", "/v1/vault/passwd", body: Self.wrong))
            if number > 1 {
                await agent.advance(by: .milliseconds(100 * (number - 1) - 1))
                #expect(agent.store.proofs == number - 1)
                await agent.advance(by: .milliseconds(1))
            }
            #expect(try await peer.answer().status == 403)
            #expect(agent.store.proofs == number)
        }
        // The correct passphrase waits like a wrong one, and resets the delay.
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/vault/passwd", body: Self.right))
        await agent.advance(by: .milliseconds(299))
        #expect(agent.store.proofs == 3)
        await agent.advance(by: .milliseconds(1))
        #expect(try await peer.answer().status == 200)
        #expect(try await agent.peer().exchange("POST", "/v1/vault/passwd", body: Self.right).status == 200)
        await agent.stop()
    }

    @Test func `a flood of guesses is turned away, and who waits when the agent stops is told`() async throws
    {
        let agent = try await AgentHarness()
        agent.store.delayPassphrases()
        let guessers = try (0..<12).map { _ in try agent.peer() }
        for guesser in guessers {
            try guesser.send(SocketPeer.request("POST", "/v1/vault/passwd", body: Self.wrong))
        }
        try await withThrowingTaskGroup(of: SocketPeer.Answer.self) { answers in
            for guesser in guessers { answers.addTask { try await guesser.answer() } }
            // One attempt is checked and eight wait. The others are rejected.
            for _ in 0..<3 {
                let answer = try #require(try await answers.next())
                #expect(answer.status == 503 && answer.head.contains("Retry-After: 10"), "\(answer)")
            }
            #expect(try await Polling.until { agent.store.proofs == 1 })
            agent.store.finishPassphrase()
            #expect(try await answers.next()?.status == 403)
            await agent.stop()
            for _ in 0..<8 { #expect(try await answers.next()?.status == 500) }
        }
    }
}

/// A user who answers the prompt of the confirmation command.
private final class AskedPerson: CommandRunning {
    private let agrees: Bool
    private let asked = Mutex<[String]>([])

    init(agrees: Bool) { self.agrees = agrees }

    var questions: [String] { asked.withLock { $0 } }

    func run(
        _ command: [String],
        environment: [String: String],
        timeLimit: Duration
    ) async throws(CommandFailure) -> CommandResult {
        asked.withLock { $0.append(environment["TOKENAGENT_QUESTION"] ?? "") }
        return CommandResult(status: agrees ? 0 : 1, standardOutput: [])
    }
}
