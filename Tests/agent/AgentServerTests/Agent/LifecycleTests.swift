// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// Logging in and out, locking, stopping.
@Suite(.timeLimit(.minutes(10)))
struct LifecycleTests {
    private func json(_ answer: SocketPeer.Answer) throws -> JSONObject {
        try #require(try JSONValue(parsing: answer.body.utf8).object)
    }

    private func line(_ text: String) throws -> JSONObject {
        try #require(try JSONValue(parsing: text.utf8).object)
    }

    @Test func `a login shows its steps, asks, and is answered on another connection`() async throws {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        let body = #"{"flow":"password","username":"ann"}"#
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/login", body: body))
        let call = await agent.serving.nextLogIn()
        let (request, conversation) = call.request
        #expect(request.flow == .password && request.username == "ann")
        #expect(try await peer.streamHead().contains("Content-Type: application/x-ndjson"))

        await conversation.tell(
            .userCode(
                code: "AB-CD",
                verificationURI: "https://id.example/d",
                complete: nil,
                expiresIn: .seconds(600)
            )
        )
        let shown = try line(await peer.chunk())
        #expect(shown["event"]?.string == "user_code" && shown["user_code"]?.string == "AB-CD")

        async let given = conversation.ask(
            LoginInputPrompt(kind: .password, prompt: "Password", isSecret: true)
        )
        let need = try line(await peer.chunk())
        #expect(
            need["event"]?.string == "need" && need["secret"]?.bool == true
                && need["kind"]?.string == "password"
        )
        let id = try #require(need["login"]?.string)
        // Another program must not guess it.
        #expect(id.utf8.count > 9)
        let path = "/v1/sessions/work/login/\(id)"
        let answered = try await agent.peer().exchange("POST", path, body: #"{"value":"s3cret"}"#)
        #expect(answered.status == 200)
        let secret = try await given
        #expect(try agent.text(secret) == "s3cret")

        let tokens = try agent.granted("token-1")
        call.answer(
            .granted(
                LoginGrant(tokens: tokens, renewal: .withoutLogin, tokenEndpoint: "https://id.example/t")
            )
        )
        let done = try line(await peer.chunk())
        #expect(done["event"]?.string == "done" && done["scope"] == ["read", "write"])
        #expect(try await peer.chunk() == "")
        #expect(try await Polling.until { (try? agent.text(secret)) == nil })
        #expect(try await agent.peer().exchange("GET", "/v1/sessions/work/token").status == 200)
        #expect(agent.observed.names == [.loggedIn])
        await agent.stop()
    }

    @Test func `a failed login says why`() async throws {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/login"))
        let call = await agent.serving.nextLogIn()
        call.answer(
            .failed(RefreshFailure(kind: .misconfigured, code: "invalid_client", message: "unknown client"))
        )
        _ = try await peer.streamHead()
        let failed = try line(await peer.chunk())
        #expect(failed["event"]?.string == "failed")
        #expect(failed["error"]?.object?["code"]?.string == "misconfigured")
        #expect(failed["error"]?.object?["message"]?.string == "unknown client")
        let remedy = failed["error"]?.object?["remedy"]?.string
        #expect(remedy == "[session.work] as its server requires, then run tokenctl login work")
        await agent.stop()
    }

    @Test func `closing the connection cancels the login`() async throws {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/login"))
        let call = await agent.serving.nextLogIn()
        _ = try await peer.streamHead()
        let question = Task {
            try await call.request.1.ask(
                LoginInputPrompt(kind: .username, prompt: "User", isSecret: false)
            )
        }
        _ = try await peer.chunk()
        peer.leave()
        await #expect(throws: CancellationError.self) { _ = try await question.value }
        let late = try agent.granted("late")
        call.answer(.granted(LoginGrant(tokens: late, renewal: .withoutLogin, tokenEndpoint: "")))
        let revocation = await agent.serving.nextRevocation()
        #expect(revocation.request.accessToken == late.accessToken)
        revocation.answer(.revoked)
        #expect(try await agent.peer().exchange("GET", "/v1/sessions/work/token").status == 401)
        await agent.stop()
    }

    @Test func `a logout during a refresh is final`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        await agent.advance(by: .seconds(3300))
        let refresh = await agent.serving.nextRefresh()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/logout"))
        let revocation = await agent.serving.nextRevocation()
        #expect(try await agent.peer().exchange("GET", "/v1/sessions/work/token").status == 401)
        let late = try agent.granted("late")
        refresh.answer(.granted(late))
        let discard = await agent.serving.nextRevocation()
        #expect(discard.request.accessToken == late.accessToken)
        discard.answer(.revoked)
        revocation.answer(.revoked)
        let answer = try json(await peer.answer())
        #expect(answer["state"]?.string == "logged_out" && answer["revoked"]?.bool == true)
        // The file goes on another thread.
        #expect(try await Polling.until { agent.store.disk.records.isEmpty })
        await agent.stop()
    }

    @Test func `a server is told again of tokens that came too late`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        await agent.advance(by: .seconds(3300))
        let refresh = await agent.serving.nextRefresh()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/logout"))
        await agent.serving.nextRevocation().answer(.revoked)
        _ = try await peer.answer()
        let late = try agent.granted("late")
        refresh.answer(.granted(late))
        await agent.serving.nextRevocation().answer(.failed(RefreshFailure(kind: .busy, message: "503")))
        let isTold = try await Polling.until {
            await agent.advance(by: .seconds(1))
            return agent.serving.revocationCount == 3
        }
        try #require(isTold)
        let again = await agent.serving.nextRevocation()
        #expect(again.request.accessToken == late.accessToken)
        #expect(agent.memory.kind(of: late.accessToken) != nil)
        again.answer(.revoked)
        #expect(try await Polling.until { agent.memory.kind(of: late.accessToken) == nil })
        await agent.stop()
    }

    @Test(.holds("72")) func `a logout the server does not hear is done here and says so`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/logout", body: #"{"local":false}"#))
        await agent.serving.nextRevocation().answer(.failed(RefreshFailure(kind: .busy, message: "503")))
        let answer = try json(await peer.answer())
        #expect(answer["revoked"]?.bool == false && answer["message"]?.string == "503")
        #expect(answer["told"] == "retrying")
        await agent.stop()
    }

    @Test func `a local logout asks no server`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let answer = try await agent.peer().exchange(
            "POST",
            "/v1/sessions/work/logout",
            body: #"{"local":true}"#
        )
        #expect(answer.status == 200)
        #expect(try json(answer)["revoked"]?.bool == false)
        #expect(try json(answer)["told"] == "local")
        #expect(agent.serving.revocationCount == 0)
        await agent.stop()
    }

    @Test(.holds("19")) func `a locked agent answers next to nothing, and serves again once unlocked`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        #expect(try await peer.exchange("POST", "/v1/lock").status == 200)
        #expect(agent.memory.isLocked)
        for (method, target) in [
            ("GET", "/v1/sessions"), ("GET", "/v1/sessions/work"), ("GET", "/v1/sessions/work/token"),
            ("POST", "/v1/sessions/work/refresh"), ("POST", "/v1/sessions/work/logout"),
            ("POST", "/v1/sessions/nobody/login"), ("DELETE", "/v1/vault/slots/1"),
        ] {
            let answer = try await peer.exchange(method, target)
            #expect(answer.status == 423, "\(method) \(target)")
            #expect(try json(answer)["error"]?.object?["remedy"]?.string == "tokenctl unlock")
        }
        let answer3 = try json(await peer.exchange("GET", "/v1"))
        #expect(answer3["locked"]?.bool == true)
        let answer4 = try json(await peer.exchange("GET", "/v1"))
        #expect(answer4["sessions"]?.integer == 0)
        #expect(try await peer.exchange("POST", "/v1/unlock", body: "{}").status == 423)
        #expect(try await peer.exchange("POST", "/v1/unlock", body: #"{"passphrase":"no"}"#).status == 403)
        await agent.advance(by: .milliseconds(100))
        #expect(
            try await peer.exchange("POST", "/v1/unlock", body: #"{"passphrase":"open sesame"}"#).status
                == 200
        )
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").body.contains("token-1"))
        #expect(agent.observed.names == [.loggedIn, .locked, .unlocked])
        await agent.stop()
    }

    @Test func `a lock waits for the refresh in flight and keeps what it brought`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(lifetime: .seconds(100))
        agent.time.advance(by: .seconds(100))
        let waiting = try agent.peer()
        try waiting.send(SocketPeer.request("GET", "/v1/sessions/work/token"))
        let refresh = await agent.serving.nextRefresh()
        let locking = try agent.peer()
        try locking.send(SocketPeer.request("POST", "/v1/lock"))
        #expect(try await waiting.answer().status == 423)
        #expect(!agent.memory.isLocked)
        refresh.answer(.granted(try agent.granted("token-2")))
        #expect(try await locking.answer().status == 200)
        #expect(agent.memory.isLocked)
        _ = try await locking.exchange("POST", "/v1/unlock", body: #"{"passphrase":"open sesame"}"#)
        #expect(try await locking.exchange("GET", "/v1/sessions/work/token").body.contains("token-2"))
        await agent.stop()
    }

    @Test(.holds("69")) func `stopping waits for the refresh in flight and starts no other`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(AgentHarness.work)
        try await agent.logIn(AgentHarness.home, lifetime: .seconds(7200))
        await agent.advance(by: .seconds(3300))
        let refresh = await agent.serving.nextRefresh()
        async let stopped: Void = agent.stop()
        #expect(try await Polling.until { !File.exists(agent.path) })
        await agent.advance(by: .seconds(7200))
        refresh.answer(.granted(try agent.granted("token-2")))
        await stopped
        #expect(agent.serving.refreshCount == 1)
        let record = try #require(agent.store.disk.records[AgentHarness.work]?.tokens[.primary])
        #expect(try agent.text(record.secret) == "token-2")
    }

    @Test func `a stop is asked for over the socket`() async throws {
        let agent = try await AgentHarness()
        #expect(try await agent.peer().exchange("POST", "/v1/shutdown").status == 200)
        await agent.runtime.waitUntilStopRequested()
        await agent.stop()
        #expect(throws: SystemFailure.self) { try agent.peer() }
    }
}
