// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import SealedStore

struct DiscoveredServerTests {
    @Test(
        .holds("193"),
        arguments: [
            nil,
            DiscoveredServer(
                issuer: "https://as.example/tenant",
                resource: "https://api.example/v1",
                isPublic: true
            ),
            DiscoveredServer(issuer: "https://as.example", client: "c-1"),
            DiscoveredServer(issuer: "https://as.example", resource: "", client: ""),
        ] as [DiscoveredServer?]
    )
    func `what a login found out about its server comes back after a restart`(
        server: DiscoveredServer?
    ) throws {
        let fixture = StoreFixture()
        let (open, _) = try fixture.unlocked()
        var snapshot = try open.snapshot(refreshToken: "RT")
        snapshot.server = server
        #expect(open.store.commit(.work, snapshot) == .durable)
        open.store.close()
        let (_, loaded) = try fixture.unlocked()
        #expect(loaded.problems.isEmpty)
        #expect(loaded.sessions.map(\.snapshot.server) == [server])
    }

    @Test(.holds("186"), arguments: [nil, "", "command /usr/bin/az token", "é\u{0}"])
    func `what tokens are made of comes back after a restart`(madeOf: String?) throws {
        let fixture = StoreFixture()
        let (open, _) = try fixture.unlocked()
        var snapshot = try open.snapshot(refreshToken: "RT")
        snapshot.madeOf = madeOf
        #expect(open.store.commit(.work, snapshot) == .durable)
        open.store.close()
        let (_, loaded) = try fixture.unlocked()
        #expect(loaded.problems.isEmpty)
        #expect(loaded.sessions.map(\.snapshot.madeOf) == [madeOf])
    }

    @Test(.holds("103")) func `the refresh token before the present one comes back after a restart`() throws {
        let fixture = StoreFixture()
        let (open, _) = try fixture.unlocked()
        var snapshot = try open.snapshot(refreshToken: "RT-2")
        snapshot.formerRefreshToken = try open.secret("RT-1", .refreshToken)
        #expect(open.store.commit(.work, snapshot) == .durable)
        open.store.close()
        let (second, loaded) = try fixture.unlocked()
        #expect(loaded.problems.isEmpty)
        let former = try #require(loaded.sessions.first?.snapshot.formerRefreshToken)
        #expect(try second.memory.open(former) { String(decoding: $0, as: UTF8.self) } == "RT-1")
        #expect(second.memory.kind(of: former) == .refreshToken)
    }

    @Test(arguments: [nil, "bot", ""])
    func `the server's word for a type of token comes back after a restart`(word: String?) throws {
        let fixture = StoreFixture()
        let (open, _) = try fixture.unlocked()
        var snapshot = try open.snapshot(refreshToken: "RT")
        let mail = TokenVariant(scopes: ["mail"], audience: nil)
        snapshot.tokens[mail] = snapshot.tokens[.primary]
        snapshot.tokens[mail]?.serverTokenType = word
        #expect(open.store.commit(.work, snapshot) == .durable)
        open.store.close()
        let (_, loaded) = try fixture.unlocked()
        #expect(loaded.problems.isEmpty)
        #expect(loaded.sessions.first?.snapshot.tokens[mail]?.serverTokenType == word)
        #expect(loaded.sessions.first?.snapshot.tokens[.primary]?.serverTokenType == nil)
    }
}
