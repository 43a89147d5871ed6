// SPDX-License-Identifier: MIT

import ServerSettings
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// The `User-Agent` header of requests.
struct UserAgentTests {
    private let name = SessionName("work")

    /// Returns a server that records its requests, with dependencies that send `userAgent`.
    private func bench(_ profile: ServerProfile, userAgent: String) throws -> (Bench, AuthorizationServers) {
        let bench = try Bench(profile)
        var tools = bench.server.tools
        tools.userAgent = userAgent
        return (bench, AuthorizationServers(profiles: [try #require(name): profile], tools: tools))
    }

    @Test(arguments: [nil, "linux:mail-sync:v1 (by /u/alice)"])
    func `login, refresh, logout, metadata and keys have it`(own: String?) async throws {
        var profile = TestIssuer.profile()
        profile.userAgent = own
        #expect(profile.problems == [])
        let (bench, servers) = try bench(profile, userAgent: "tokenagent/9.9")
        let issuer = try await TestIssuer()
        bench.exchange.always(TestIssuer.discoveryURL, .json(TestIssuer.metadata()))
        bench.exchange.always(TestIssuer.keySetURL, .json(issuer.keySet))
        bench.exchange.always("https://id.example/tenant/revoke", .json("", status: 200))
        bench.exchange.always(
            TestIssuer.tokenEndpoint,
            .json(#"{"access_token":"at","refresh_token":"rt","id_token":"\#(try issuer.idToken())"}"#)
        )
        let session = try #require(name)
        let person = ScriptedPerson(memory: bench.memory) { _ in "alice" }
        let login = await servers.logIn(session, LoginRequest(flow: .password), conversation: person)
        let grant = try #require(login.granted, "\(login)")
        #expect(await servers.refresh(session, grant.refreshRequest(nil)).granted != nil)
        _ = await servers.revoke(session, try #require(grant.revocationRequest))
        _ = await servers.examine(session)
        #expect(Set(bench.exchange.sent.map(\.url)).count == 4)
        #expect(Set(bench.exchange.sent.map { $0.headers["user-agent"] }) == [own ?? "tokenagent/9.9"])
    }

    @Test func `a back end with JSON gets it too`() async throws {
        let json = try KindBench(JSONServerTests.profile())
        json.exchange.always(JSONServerTests.refresh, .json("{}"))
        _ = try await json.refresh()
        #expect(json.exchange.sent.map { $0.headers["user-agent"] } == ["tokenagent"])
    }

    @Test(arguments: [
        "", " x", "x ", "x\u{0D}\u{0A}authorization: y", "Zürich", String(repeating: "x", count: 257),
    ])
    func `one that is no header value is refused when the configuration is read`(text: String) {
        var profile = TestIssuer.profile()
        profile.userAgent = text
        #expect(profile.otherProblems.map(\.key) == (text.isEmpty ? [] : ["user_agent"]))
    }
}
