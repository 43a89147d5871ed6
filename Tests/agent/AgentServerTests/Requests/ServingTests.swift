// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

@Suite(.timeLimit(.minutes(10)))
struct ServingTests {
    private func json(_ answer: SocketPeer.Answer) throws -> JSONObject {
        try #require(try JSONValue(parsing: answer.body.utf8).object)
    }

    @Test func `a good token is served at once, as JSON and as text`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(token: #"a"b\c"#)
        let peer = try agent.peer()
        let answer = try await peer.exchange("GET", "/v1/sessions/work/token")
        let object = try json(answer)
        #expect(answer.status == 200)
        #expect(
            object.members.map(\.name) == [
                "session", "access_token", "token_type", "expires_at", "expires_in", "scope",
            ]
        )
        #expect(object["access_token"]?.string == #"a"b\c"#)
        #expect(object["expires_at"]?.integer == agent.time.wallTime.secondsSince1970 + 3600)
        #expect(object["expires_in"]?.integer == 3600)
        #expect(object["scope"]?.string == "read write")
        let text = try await peer.exchange("GET", "/v1/sessions/work/token", fields: "Accept: text/plain\r\n")
        #expect(text.body == "a\"b\\c\n")
        #expect(text.head.contains("Content-Type: text/plain"))
        await agent.stop()
    }

    @Test func `HEAD says how long the answer would be, also where a token has to be escaped`() async throws {
        let agent = try await AgentHarness()
        for token in ["plain-token", #"a"b\c"#, "tab\tand\u{1}more than eight bytes"] {
            try await agent.logIn(token: token)
            let path = "/v1/sessions/work/token"
            let (body, head) = (try agent.peer(), try agent.peer())
            let answer = try await body.exchange("GET", path)
            let length = "Content-Length: \(answer.body.utf8.count)\r\n"
            #expect(answer.head.contains(length))
            #expect(try json(answer)["access_token"]?.string == token)
            try head.send("HEAD \(path) HTTP/1.1\r\nHost: tokenagent\r\n\r\n")
            head.endSending()
            let alone = try await head.rest()
            #expect(alone.hasSuffix("\r\n\r\n") && alone.contains(length))
        }
        await agent.stop()
    }

    @Test func `each answer on a connection has the token and the time of its moment`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(token: "first")
        let peer = try agent.peer()
        func get() async throws -> JSONObject {
            try json(try await peer.exchange("GET", "/v1/sessions/work/token"))
        }
        #expect(try await get()["expires_in"]?.integer == 3600)
        agent.time.advance(by: .seconds(1001))
        #expect(try await get()["expires_in"]?.integer == 2599)
        #expect(try await get()["access_token"]?.string == "first")
        try await agent.logIn(token: "second")
        let second = try await get()
        #expect(second["access_token"]?.string == "second" && second["expires_in"]?.integer == 3600)
        _ = try await agent.peer().exchange("POST", "/v1/lock")
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").status == 423)
        await agent.stop()
    }

    @Test func `a peer that reads slowly gets all its answers whole and in order`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(token: String(repeating: "t", count: 4_000))
        let peer = try agent.peer()
        let count = 3_000
        // Responses of 6 MB in total, far more than the kernel buffers for a peer that does not read.
        let requests = (0..<count).map { number in
            SocketPeer.request("GET", "/v1/sessions/\(number % 2 == 0 ? "work" : "n\(number)")/token")
        }
        async let answers = peer.slowly(until: #""session":"n\#(count - 1)""#) { peer.hasUnread(150_000) }
        try peer.send(requests.joined())
        let all = try await answers
        var start = 0
        for number in 0..<count {
            let end = number % 2 == 0 ? "write\"}\n" : #""session":"n\#(number)""#
            let found = try #require(all.firstIndex(of: end, from: start), "answer \(number)")
            #expect((found - start > 4_000) == (number % 2 == 0), "answer \(number)")
            start = found + end.utf8.count
        }
        await agent.stop()
    }

    @Test(.holds("114")) func `a thousand requests for an expired token cost one refresh`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(lifetime: .seconds(100))
        agent.time.advance(by: .seconds(100))
        // The agent's own timer begins the refresh, so that all of them join it, however slow this machine is.
        await agent.runtime.agent.timeReached()
        let request = SocketPeer.request("GET", "/v1/sessions/work/token", fields: "Accept: text/plain\r\n")
        let peers = try (0..<1000).map { _ in
            let peer = try agent.peer()
            try peer.send(request)
            return peer
        }
        let refresh = await agent.serving.nextRefresh()
        _ = try await Polling.until { try await agent.waiters("work") == 1000 }
        refresh.answer(.granted(try agent.granted("token-2")))
        for peer in peers { #expect(try await peer.answer().body == "token-2\n") }
        #expect(agent.serving.refreshCount == 1)
        let metrics = try await agent.peer().exchange("GET", "/v1/metrics").body
        #expect(metrics.contains("tokenagent_coalesced_total{session=\"work\"} 1000\n"))
        #expect(
            metrics.contains("tokenagent_refreshes_total{session=\"work\",result=\"ok\",reason=\"due\"} 1\n")
        )
        #expect(agent.store.disk.impossibleCalls.isEmpty)
        await agent.stop()
    }

    @Test(.holds("89")) func `a session whose server hangs delays no other, and serves its own good token`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn(AgentHarness.work)
        try await agent.logIn(AgentHarness.home, token: "home-1", lifetime: .seconds(7200))
        agent.time.advance(by: .seconds(3400))
        await agent.runtime.agent.timeReached()
        _ = await agent.serving.nextRefresh()
        let peer = try agent.peer()
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").body.contains("token-1"))
        #expect(try await peer.exchange("GET", "/v1/sessions/home/token").body.contains("home-1"))
        let status = try json(await peer.exchange("GET", "/v1/sessions/work"))
        #expect(status["state"]?.string == "refreshing")
        agent.stopSoon()
    }

    @Test func `a request that does not wait is answered at once`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(lifetime: .seconds(100))
        agent.time.advance(by: .seconds(100))
        let answer = try await agent.peer().exchange("GET", "/v1/sessions/work/token?timeout=0")
        let error = try #require(try json(answer)["error"]?.object)
        #expect(answer.status == 503)
        #expect(error["code"]?.string == "temporarily_unavailable")
        #expect(error["session"]?.string == "work")
        #expect(answer.head.contains("\r\nRetry-After: "))
        #expect(error["retry_after"]?.integer ?? 0 >= 1)
        _ = await agent.serving.nextRefresh()
        agent.stopSoon()
    }

    @Test func `a request waits as long as it says, and no longer`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(lifetime: .seconds(100))
        agent.time.advance(by: .seconds(100))
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", "/v1/sessions/work/token?timeout=7"))
        _ = await agent.serving.nextRefresh()
        await agent.advance(by: .seconds(6))
        #expect(try await agent.waiters("work") == 1)
        await agent.advance(by: .seconds(1))
        #expect(try await peer.answer().status == 503)
        agent.stopSoon()
    }

    @Test func `a peer that leaves cancels nothing`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(lifetime: .seconds(100))
        agent.time.advance(by: .seconds(100))
        let leaving = try agent.peer()
        let staying = try agent.peer()
        try leaving.send(SocketPeer.request("GET", "/v1/sessions/work/token"))
        let refresh = await agent.serving.nextRefresh()
        try staying.send(SocketPeer.request("GET", "/v1/sessions/work/token"))
        #expect(try await Polling.until { try await agent.waiters("work") == 2 })
        leaving.leave()
        #expect(try await Polling.until { try await agent.waiters("work") == 1 })
        refresh.answer(.granted(try agent.granted("token-2")))
        #expect(try await staying.answer().body.contains("token-2"))
        await agent.stop()
    }

    @Test func `without a login the answer names the command`() async throws {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        for _ in 0..<100 {
            let answer = try await peer.exchange("GET", "/v1/sessions/work/token")
            #expect(answer.status == 401)
            let error = try #require(try json(answer)["error"]?.object)
            #expect(error["code"]?.string == "login_required")
            #expect(error["remedy"]?.string == "tokenctl login work")
        }
        #expect(agent.serving.refreshCount == 0)
        await agent.stop()
    }

    @Test func `the agent refreshes by itself, and commits before it publishes`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let events = try agent.peer()
        try events.send(SocketPeer.request("GET", "/v1/events"))
        _ = try await events.streamHead()
        await agent.advance(by: .seconds(3300))
        let refresh = await agent.serving.nextRefresh()
        refresh.answer(.granted(try agent.granted("token-2")))
        let line = try await events.chunk()
        #expect(line.contains(#""event":"refreshed","session":"work""#))
        #expect(
            try agent.text(
                try #require(agent.store.disk.records[AgentHarness.work]?.tokens[.primary]?.secret)
            ) == "token-2"
        )
        #expect(try await agent.peer().exchange("GET", "/v1/sessions/work/token").body.contains("token-2"))
        await agent.stop()
    }

    @Test func `a full disk keeps the refresh token at home and the token served`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        agent.store.disk.refuseReservations(StorageFailure(message: "no space left on device"))
        await agent.advance(by: .seconds(3300))
        let peer = try agent.peer()
        #expect(
            try await Polling.until {
                let status = try json(await peer.exchange("GET", "/v1/sessions/work"))
                return status["state"]?.string == "retrying"
            }
        )
        #expect(agent.serving.refreshCount == 0)
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").body.contains("token-1"))
        let doctor = try await peer.exchange("GET", "/v1/doctor").body
        #expect(doctor.contains("work: not refreshed: no space left on device"), "\(doctor)")
        #expect(doctor.contains("tokenctl refresh work"), "\(doctor)")
        await agent.stop()
    }

    @Test(.holds("107")) func `a machine that wakes up tries again what it could not send`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        await agent.runtime.housekeep()
        let unreachable = RefreshFailure(kind: .unreachable, message: "no route to host")
        await agent.advance(by: .seconds(3_300))
        for attempt in 1...6 {
            await agent.serving.nextRefresh().answer(.failed(unreachable))
            #expect(try await Polling.until { await agent.runtime.agent.admittedAttempts == 0 })
            if attempt < 6 { await agent.advance(by: .seconds(61)) }
        }
        // Asleep for three seconds, far less than the pause before the next try.
        agent.time.advance(by: .seconds(3))
        await agent.runtime.agent.timeReached()
        #expect(agent.serving.refreshCount == 6)
        await agent.runtime.housekeep()
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        await agent.stop()
    }

    @Test(arguments: [
        ("min_valid=99999999999", 400), ("min_valid=x", 400), ("timeout=-1", 400), ("scope=%22", 400),
        ("kind=what", 400), ("typo=1", 400), ("timeout=1&timeout=2", 400), ("min_valid=%zz", 400),
        ("audience=%00", 400), ("min_valid=30&timeout=5&kind=access", 200), ("", 200),
    ])
    func `parameters are checked`(query: String, status: Int) async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        #expect(try await agent.peer().exchange("GET", "/v1/sessions/work/token?\(query)").status == status)
        await agent.stop()
    }

    @Test(.holds("115")) func `each combination of scope and audience has one refresh and one token`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let first = try agent.peer()
        try first.send(SocketPeer.request("GET", "/v1/sessions/work/token?scope=a+b&audience=x"))
        let refresh = await agent.serving.nextRefresh()
        #expect(refresh.request.variant == TokenVariant(scopes: ["b", "a"], audience: "x"))
        let second = try agent.peer()
        try second.send(SocketPeer.request("GET", "/v1/sessions/work/token?audience=x&scope=b&scope=a"))
        #expect(try await Polling.until { try await agent.waiters("work") == 2 })
        refresh.answer(.granted(try agent.granted("narrow")))
        #expect(try await first.answer().body.contains("narrow"))
        #expect(try await second.answer().body.contains("narrow"))
        #expect(try await first.exchange("GET", "/v1/sessions/work/token").body.contains("token-1"))
        #expect(agent.serving.refreshCount == 1)
        await agent.stop()
    }
}

extension AgentHarness {
    /// Returns the number of waiters according to the session's status.
    func waiters(_ name: String) async throws -> Int64? {
        let body = try await peer().exchange("GET", "/v1/sessions/\(name)").body
        return try JSONValue(parsing: body.utf8).object?["waiters"]?.integer
    }

    /// Ends an agent one of whose servers will never answer.
    func stopSoon() {
        runtime.requestStop()
    }
}
