// SPDX-License-Identifier: MIT

import Testing
import TokenCore

@testable import SealedStore

struct RoundTripTests {
    let fixture = StoreFixture()

    @Test func `a committed session comes back after a restart`() throws {
        let (first, _) = try fixture.unlocked()
        let snapshot = try first.snapshot(refreshToken: "RT-1", accessToken: "AT-1", idToken: "ID-1")
        #expect(first.store.commit(.work, snapshot) == .durable)
        first.store.close()

        let (second, loaded) = try fixture.unlocked()
        #expect(loaded.problems.isEmpty)
        let session = try #require(loaded.sessions.first)
        #expect(loaded.sessions.count == 1)
        #expect(session.name == .work)
        #expect(!session.isInterrupted)
        #expect(try second.refreshToken(of: session.snapshot) == "RT-1")
        let token = try #require(session.snapshot.tokens[.primary])
        #expect(try second.text(token.secret) == "AT-1")
        #expect(try token.idToken.map { try second.text($0.secret) } == "ID-1")
        #expect(token.expiresAt == .seconds(12_600))
        #expect(token.scope == ["openid", "offline_access"])
    }

    @Test func `a refresh replaces the refresh token`() throws {
        let (first, _) = try fixture.unlocked()
        let old = try first.snapshot(refreshToken: "RT-1")
        #expect(first.store.commit(.work, old) == .durable)
        try first.store.reserve(.work, old)
        #expect(first.store.commit(.work, try first.snapshot(refreshToken: "RT-2")) == .durable)
        first.store.close()

        let (second, loaded) = try fixture.unlocked()
        #expect(loaded.problems.isEmpty)
        #expect(try loaded.sessions.map { try second.refreshToken(of: $0.snapshot) } == ["RT-2"])
        #expect(fixture.records("new").isEmpty)
        #expect(fixture.records().count == 1)
    }

    @Test func `a refresh cut off by a crash comes back as interrupted with the token that was sent`() throws
    {
        let (first, _) = try fixture.unlocked()
        let old = try first.snapshot(refreshToken: "RT-1")
        #expect(first.store.commit(.work, old) == .durable)
        try first.store.reserve(.work, old)
        first.store.close()

        let (second, loaded) = try fixture.unlocked()
        #expect(loaded.problems.isEmpty)
        #expect(loaded.sessions.map(\.isInterrupted) == [true])
        let session = try #require(loaded.sessions.first)
        #expect(try second.refreshToken(of: session.snapshot) == "RT-1")
        try second.store.reserve(.work, session.snapshot)
        #expect(second.store.commit(.work, try second.snapshot(refreshToken: "RT-2")) == .durable)
        second.store.close()

        let (third, reloaded) = try fixture.unlocked()
        #expect(reloaded.sessions.map(\.isInterrupted) == [false])
        #expect(try reloaded.sessions.map { try third.refreshToken(of: $0.snapshot) } == ["RT-2"])
    }

    @Test func `a forgotten session leaves nothing behind`() throws {
        let (first, _) = try fixture.unlocked()
        let snapshot = try first.snapshot(refreshToken: "RT-1")
        #expect(first.store.commit(.work, snapshot) == .durable)
        try first.store.reserve(.work, snapshot)
        try first.store.forget(.work)
        #expect(Disk.names(fixture.sessionsPath).isEmpty)
        first.store.close()
        let (_, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.isEmpty)
        #expect(loaded.problems.isEmpty)
    }
}
