// SPDX-License-Identifier: MIT

import Testing
import TokenCore

@testable import OAuthClient

struct AuthorizationServersTests {
    @Test func `a session the configuration does not name is refused`() async throws {
        let bench = try Bench(.fixed())
        let servers = AuthorizationServers(profiles: [:], tools: bench.server.tools)
        let name = try #require(SessionName("work"))
        let request = RefreshRequest(
            attempt: AttemptNumber(rawValue: 1),
            renewal: .withoutLogin,
            variant: .primary
        )
        #expect(await servers.refresh(name, request).failure?.kind == .misconfigured)
        let person = ScriptedPerson(memory: bench.memory)
        #expect(
            await servers.logIn(name, LoginRequest(), conversation: person).failure?.kind == .misconfigured
        )
    }

    @Test func `an unchanged profile keeps what its server has learned, a changed one does not`() async throws
    {
        let bench = try Bench(.fixed())
        let name = try #require(SessionName("work"))
        let other = try #require(SessionName("other"))
        bench.exchange.always(TestIssuer.discoveryURL, .json(TestIssuer.metadata()))
        bench.exchange.always(TestIssuer.tokenEndpoint, .json(#"{"access_token":"at"}"#))
        let servers = AuthorizationServers(profiles: [name: TestIssuer.profile()], tools: bench.server.tools)
        let request = RefreshRequest(
            attempt: AttemptNumber(rawValue: 1),
            renewal: .refreshToken(try bench.secret("rt")),
            variant: .primary
        )
        func fetches() -> Int { bench.exchange.sent.count { $0.url == TestIssuer.discoveryURL } }
        #expect(await servers.refresh(name, request).granted != nil)
        servers.replaceProfiles([name: TestIssuer.profile(), other: .fixed()])
        #expect(await servers.refresh(name, request).granted != nil)
        #expect(fetches() == 1)
        var changed = TestIssuer.profile()
        changed.scopes = ["openid"]
        servers.replaceProfiles([name: changed])
        #expect(await servers.refresh(name, request).granted != nil)
        #expect(fetches() == 2)
    }

    @Test func `sessions that trust an issuer in the same way fetch its metadata once`() async throws {
        let bench = try Bench(.fixed())
        let names = try ["first", "second", "distrustful"].map { try #require(SessionName($0)) }
        bench.exchange.always(TestIssuer.discoveryURL, .json(TestIssuer.metadata()))
        bench.exchange.always(TestIssuer.tokenEndpoint, .json(#"{"access_token":"at"}"#))
        var profiles = Dictionary(uniqueKeysWithValues: names.map { ($0, TestIssuer.profile()) })
        profiles[names[1]]?.client.id = "another"
        profiles[names[2]]?.trust.pins = ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
        let servers = AuthorizationServers(profiles: profiles, tools: bench.server.tools)
        for (name, fetches) in zip(names, [1, 1, 2]) {
            let request = RefreshRequest(
                attempt: AttemptNumber(rawValue: 1),
                renewal: .refreshToken(try bench.secret("rt")),
                variant: .primary
            )
            #expect(await servers.refresh(name, request).granted != nil)
            #expect(bench.exchange.sent.count { $0.url == TestIssuer.discoveryURL } == fetches)
        }
    }
}
