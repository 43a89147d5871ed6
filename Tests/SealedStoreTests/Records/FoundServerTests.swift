// SPDX-License-Identifier: MIT

import Testing
import TokenCore

@testable import SealedStore

struct FoundServerTests {
    @Test(
        arguments: [
            nil,
            FoundServer(
                issuer: "https://as.example/tenant",
                resource: "https://api.example/v1",
                isPublic: true
            ),
            FoundServer(issuer: "https://as.example", client: "c-1"),
            FoundServer(issuer: "https://as.example", resource: "", client: ""),
        ] as [FoundServer?]
    )
    func `what a login found out about its server comes back after a restart`(server: FoundServer?) throws {
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

    @Test(arguments: [nil, "", "command /usr/bin/az token", "é\u{0}"])
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
}
