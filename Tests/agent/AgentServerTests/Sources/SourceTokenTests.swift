// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// Sessions that are made from the tokens of others: `a` of `work`, `b` of `a`.
@Suite(.timeLimit(.minutes(10)))
struct SourceTokenTests {
    private static let a = known("a")
    private static let b = known("b")

    private static func known(_ text: String) -> SessionName {
        guard let name = SessionName(text) else { preconditionFailure("no session name: \(text)") }
        return name
    }

    /// The settings of a session that is made from `source`.
    private static func made(
        from source: SessionName,
        like settings: SessionSettings,
        usesIDToken: Bool = false,
        actor: SessionName? = nil
    ) -> SessionSettings {
        var settings = settings
        settings.policy.startsByItself = true
        settings.policy.tokensOutliveLogin = false
        settings.sources = SessionSources(
            subject: SessionSources.Source(session: source, usesIDToken: usesIDToken),
            actor: actor.map { SessionSources.Source(session: $0) }
        )
        settings.loginSubstitute = .run("tokenctl login work")
        return settings
    }

    private static func derive(_ configuration: inout AgentConfiguration) {
        guard let settings = configuration.sessions[AgentHarness.work] else { return }
        configuration.sessions[a] = made(from: AgentHarness.work, like: settings)
        configuration.sessions[b] = made(from: a, like: settings)
    }

    private static func agent() async throws -> AgentHarness {
        try await AgentHarness.configured { configuration, _ in derive(&configuration) }
    }

    /// An agent whose chain of three has its tokens: `token-1`, `a-1` and `b-1`.
    private static func chain(lifetime: Duration = .seconds(3_600)) async throws -> AgentHarness {
        let agent = try await agent()
        try await agent.logIn(lifetime: lifetime)
        for (name, token) in [(a, "a-1"), (b, "b-1")] {
            try await agent.answerExchange(of: name, token, lifetime: lifetime)
        }
        #expect(try await Polling.until { try await agent.get("b").body.contains("b-1") })
        return agent
    }

    @Test func `a login is enough for all that is made from it`() async throws {
        let agent = try await Self.agent()
        #expect(try await agent.get("b").status == 401)
        try await agent.logIn()
        let first = await agent.serving.nextRefresh()
        #expect(first.session == Self.a)
        #expect(try first.request.sources.subject.map(agent.text) == "token-1")
        #expect(first.request.sources.actor == nil)
        first.answer(.granted(try agent.granted("a-1")))
        let second = await agent.serving.nextRefresh()
        #expect(second.session == Self.b)
        #expect(try second.request.sources.subject.map(agent.text) == "a-1")
        second.answer(.granted(try agent.granted("b-1")))
        #expect(try await Polling.until { try await agent.get("b").body.contains("b-1") })
        #expect(agent.serving.refreshCount == 2)
        await agent.stop()
    }

    @Test(.holds("186")) func `a thousand requests on an expired chain of three are one request each`()
        async throws
    {
        let agent = try await Self.chain(lifetime: .seconds(600))
        agent.time.advance(by: .seconds(700))
        let peers = try (0..<1000).map { _ in try agent.peer() }
        for peer in peers { try peer.send(SocketPeer.request("GET", "/v1/sessions/b/token")) }
        let root = await agent.serving.nextRefresh()
        #expect(root.session == AgentHarness.work)
        _ = try await Polling.until { try await agent.waiters("b") == 1000 }
        root.answer(.granted(try agent.granted("token-2")))
        try await agent.answerExchange(of: Self.a, "a-2", of: "token-2")
        try await agent.answerExchange(of: Self.b, "b-2", of: "a-2")
        for peer in peers { #expect(try await peer.answer().body.contains("b-2")) }
        #expect(agent.serving.refreshCount == 5)
        Attachment.record("1,000 gets: 3 requests", named: "figure")
        await agent.stop()
    }

    @Test(.holds("186")) func `a logout of the source ends the chain, and its tokens are revoked`()
        async throws
    {
        let agent = try await Self.chain()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/logout", body: "{}"))
        var revoked: Set<String> = []
        for _ in 0..<3 {
            let call = await agent.serving.nextRevocation()
            revoked.insert(try call.request.accessToken.map(agent.text) ?? "")
            call.answer(.revoked)
        }
        #expect(revoked == ["token-1", "a-1", "b-1"])
        for name in ["a", "b"] {
            let answer = try await agent.get(name)
            #expect(answer.status == 401)
            #expect(answer.body.contains("tokenctl login work"), "\(answer.body)")
        }
        #expect(agent.store.disk.records[Self.a] == nil && agent.store.disk.records[Self.b] == nil)
        #expect(agent.serving.refreshCount == 2)
        await agent.stop()
    }

    @Test(.holds("186")) func `another login at the source leaves nothing of the last one`() async throws {
        let agent = try await Self.chain()
        agent.time.advance(by: .seconds(10))
        try await agent.logIn(token: "other-1")
        for _ in 0..<2 {
            let call = await agent.serving.nextRevocation()
            let token = try call.request.accessToken.map(agent.text) ?? ""
            #expect(["a-1", "b-1"].contains(token))
            call.answer(.revoked)
        }
        try await agent.answerExchange(of: Self.a, "a-2", of: "other-1")
        try await agent.answerExchange(of: Self.b, "b-2", of: "a-2")
        #expect(try await Polling.until { try await agent.get("b").body.contains("b-2") })
        await agent.stop()
    }

    @Test func `a source that cannot be refreshed now ends nothing, and its return is noticed`() async throws
    {
        let agent = try await Self.chain(lifetime: .seconds(600))
        agent.time.advance(by: .seconds(700))
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", "/v1/sessions/b/token"))
        let root = await agent.serving.nextRefresh()
        root.answer(.failed(RefreshFailure(kind: .busy, message: "503")))
        let answer = try await peer.answer()
        #expect(answer.status == 503 && answer.body.contains("source session work"), "\(answer.body)")
        let again = try agent.peer()
        try again.send(SocketPeer.request("POST", "/v1/sessions/work/refresh", body: "{}"))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        try await agent.answerExchange(of: Self.a, "a-2", of: "token-2")
        try await agent.answerExchange(of: Self.b, "b-2", of: "a-2")
        #expect(try await Polling.until { try await agent.get("b").body.contains("b-2") })
        await agent.stop()
    }

    @Test func `a source without an ID token is a mistake, told with what helps`() async throws {
        let agent = try await AgentHarness.configured { configuration, _ in
            guard let settings = configuration.sessions[AgentHarness.work] else { return }
            configuration.sessions[Self.a] = Self.made(
                from: AgentHarness.work,
                like: settings,
                usesIDToken: true
            )
        }
        try await agent.logIn(isRenewable: false)
        let answer = try await agent.get("a")
        #expect(answer.body.contains("has no ID token"), "\(answer.body)")
        #expect(answer.body.contains("openid"))
        #expect(agent.serving.refreshCount == 0)
        await agent.stop()
    }

    @Test func `an actor's token goes with the subject's, and both are waited for`() async throws {
        let agent = try await AgentHarness.configured { configuration, _ in
            guard let settings = configuration.sessions[AgentHarness.work] else { return }
            configuration.sessions[Self.a] = Self.made(
                from: AgentHarness.work,
                like: settings,
                actor: AgentHarness.home
            )
        }
        try await agent.logIn()
        #expect(try await agent.get("a").status == 401)
        #expect(agent.serving.refreshCount == 0)
        try await agent.logIn(AgentHarness.home, token: "home-1")
        let call = await agent.serving.nextRefresh()
        #expect(try call.request.sources.subject.map(agent.text) == "token-1")
        #expect(try call.request.sources.actor.map(agent.text) == "home-1")
        call.answer(.granted(try agent.granted("a-1")))
        #expect(try await Polling.until { try await agent.get("a").body.contains("a-1") })
        await agent.stop()
    }

    @Test func `a lock while a session waits for its source leaves nothing behind`() async throws {
        let agent = try await Self.chain(lifetime: .seconds(600))
        agent.time.advance(by: .seconds(700))
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", "/v1/sessions/b/token"))
        let root = await agent.serving.nextRefresh()
        let locking = Task { await agent.runtime.agent.lock() }
        #expect(try await peer.answer().status == 423)
        root.answer(.granted(try agent.granted("token-2")))
        await locking.value
        let answer = try await agent.peer().exchange(
            "POST",
            "/v1/unlock",
            body: #"{"passphrase":"open sesame"}"#
        )
        #expect(answer.status == 200, "\(answer.body)")
        try await agent.answerExchange(of: Self.a, "a-2", of: "token-2")
        try await agent.answerExchange(of: Self.b, "b-2", of: "a-2")
        #expect(try await Polling.until { try await agent.get("b").body.contains("b-2") })
        await agent.stop()
    }

    @Test(.holds("186")) func `a session that returns to the configuration is compared with its source`()
        async throws
    {
        let agent = try await Self.chain()
        let peer = try agent.peer()
        agent.configuration.change { configuration in
            configuration.sessions[Self.a] = nil
            configuration.sessions[Self.b] = nil
        }
        _ = try await peer.exchange("POST", "/v1/reload")
        agent.time.advance(by: .seconds(10))
        try await agent.logIn(token: "other-1")
        #expect(agent.store.disk.records[Self.a] != nil)
        agent.configuration.change { Self.derive(&$0) }
        _ = try await peer.exchange("POST", "/v1/reload")
        for _ in 0..<2 { await agent.serving.nextRevocation().answer(.revoked) }
        try await agent.answerExchange(of: Self.a, "a-2", of: "other-1")
        try await agent.answerExchange(of: Self.b, "b-2", of: "a-2")
        #expect(try await Polling.until { try await agent.get("b").body.contains("b-2") })
        await agent.stop()
    }

    @Test func `no session follows before those that it is made from`() {
        var settings = SessionSettings(policy: SessionPolicy(), kind: "oidc", issuer: "", fingerprint: "")
        // The names are in the other order.
        var configuration = AgentConfiguration(sessions: [Self.b: settings])
        settings.sources.subject = SessionSources.Source(session: Self.b)
        configuration.sessions[AgentHarness.work] = settings
        settings.sources.subject = SessionSources.Source(session: AgentHarness.work)
        configuration.sessions[Self.a] = settings
        let derived = DerivedSessions(configuration)
        #expect(derived[Self.b] == [AgentHarness.work, Self.a] && derived[Self.a].isEmpty)
        #expect(derived[AgentHarness.work] == [Self.a] && derived.all == derived[Self.b])
    }

    @Test func `status and lines of the audit log name the source`() async throws {
        let agent = try await Self.chain()
        _ = try await agent.get("work")
        let sources: [(String, String?)] = [("b", "a"), ("a", "work"), ("work", nil)]
        for (name, source) in sources {
            let status = try await agent.peer().exchange("GET", "/v1/sessions/\(name)").body
            #expect(try JSONValue(parsing: status.utf8).object?["source"]?.string == source)
        }
        let lines = try await agent.auditLines()
        let named = lines.filter { $0["session"]?.string == "b" }.map { $0["source"]?.string }
        #expect(!named.isEmpty && named.allSatisfy { $0 == "a" }, "\(lines)")
        #expect(lines.filter { $0["session"]?.string == "work" }.allSatisfy { $0["source"] == nil })
        await agent.stop()
    }

    @Test func `a login of its own is refused, and the source's is named`() async throws {
        let agent = try await Self.agent()
        let answer = try await agent.peer().exchange("POST", "/v1/sessions/b/login", body: "{}")
        #expect(answer.status == 400 && answer.body.contains("tokenctl login work"), "\(answer.body)")
        #expect(answer.body.contains("made from those of session a"))
        #expect(agent.serving.logInCount == 0)
        await agent.stop()
    }
}

extension AgentHarness {
    fileprivate func get(_ name: String) async throws -> SocketPeer.Answer {
        try await peer().exchange("GET", "/v1/sessions/\(name)/token")
    }

    /// Answers the next request to a server, which has to be the exchange of `name` for the token `source`.
    fileprivate func answerExchange(
        of name: SessionName,
        _ token: String,
        of source: String? = nil,
        lifetime: Duration = .seconds(3_600),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let call = await serving.nextRefresh()
        #expect(call.session == name, sourceLocation: sourceLocation)
        if let source {
            let sent = try call.request.sources.subject.map(text)
            #expect(sent == source, sourceLocation: sourceLocation)
        }
        var tokens = try granted(token, lifetime: lifetime)
        tokens.origin = IssuanceContext(tokenEndpoint: "https://id.example/token")
        call.answer(.granted(tokens))
    }
}
