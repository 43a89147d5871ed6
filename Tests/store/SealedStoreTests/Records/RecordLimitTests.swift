// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// Records of sessions with much data, which must stay readable.
struct RecordLimitTests {
    private let fixture = StoreFixture()

    /// Returns a login with `count` tokens for other audiences, each of `size` bytes.
    private func snapshot(_ open: OpenStore, variants count: Int, of size: Int) throws -> SessionSnapshot {
        var snapshot = try open.snapshot(refreshToken: "RT-1")
        let token = try #require(snapshot.tokens[.primary])
        for number in 0..<count {
            let text = String(repeating: "a", count: size - 8) + "\(10_000_000 + number)"
            let variant = TokenVariant(scopes: ["mail"], audience: "https://api\(number).example")
            snapshot.tokens[variant] = token
            snapshot.tokens[variant]?.secret = try open.secret(text, .accessToken)
        }
        return snapshot
    }

    /// Opens the store again, and returns the session if it was found.
    private func reopened(_ open: OpenStore) throws -> (SessionSnapshot?, OpenStore, LoadedSessions) {
        open.store.close()
        let (again, loaded) = try fixture.unlocked()
        return (loaded.sessions.first?.snapshot, again, loaded)
    }

    @Test(arguments: [(31, 8_000, true), (31, 250_000, true), (31, 300_000, false), (1_500, 6_000, false)])
    func `tokens of further audiences are left out where they do not fit`(
        count: Int,
        size: Int,
        fits: Bool
    ) throws {
        let (open, _) = try fixture.unlocked()
        let snapshot = try snapshot(open, variants: count, of: size)
        #expect(open.store.commit(.work, snapshot) == .durable)
        let (found, again, _) = try reopened(open)
        let login = try #require(found)
        #expect(login.tokens.count == (fits ? count + 1 : 1))
        #expect(try again.refreshToken(of: login) == "RT-1")
        #expect(Disk.names(fixture.sessionsPath).allSatisfy { !$0.hasSuffix(".bad") })
    }

    @Test func `an intent to refresh is as limited, and its answer goes into what was reserved`() throws {
        let (open, _) = try fixture.unlocked()
        let large = try snapshot(open, variants: 31, of: 300_000)
        #expect(open.store.commit(.work, large) == .durable)
        try open.store.reserve(.work, large)
        let (interrupted, again, _) = try reopened(open)
        #expect(try again.refreshToken(of: try #require(interrupted)) == "RT-1")
        try again.store.reserve(.work, try #require(interrupted))
        let next = try snapshot(again, variants: 31, of: 300_000)
        #expect(again.store.commit(.work, next) == .durable)
        let (found, _, _) = try reopened(again)
        #expect(found?.tokens.count == 1)
    }

    @Test func `a login that is itself too long is not written over the one before`() throws {
        let (open, _) = try fixture.unlocked()
        try open.commitDurably("RT-1")
        var snapshot = try snapshot(open, variants: 2, of: 1_000)
        snapshot.renewal = .refreshToken(try open.secret("RT-2", .refreshToken))
        snapshot.keptMembers = ["badge": String(repeating: "x", count: 9 << 20)]
        guard case .memoryOnly(let failure) = open.store.commit(.work, snapshot) else {
            Issue.record("the record was written")
            return
        }
        #expect(failure.message.contains("work") && failure.message.contains("8 MiB"))
        #expect(throws: StorageFailure.self) {
            try open.store.reserve(.work, snapshot)
        }
        let (found, again, _) = try reopened(open)
        #expect(try again.refreshToken(of: try #require(found)) == "RT-1")
    }

    @Test func `a record of before the limit opens`() throws {
        let (open, _) = try fixture.unlocked()
        let snapshot = try snapshot(open, variants: 1_500, of: 6_000)
        try open.store.work.withLock { work in
            var ledger = try #require(work.ledger)
            let sealer = RecordSealer(ring: ledger.ring, memory: open.memory)
            var entry = RecordLedgerEntry(id: .random())
            try ledger.write(&entry) { entry throws(StorageFailure) in
                try sealer.sealedContent(.work, snapshot, entry, .commit, at: open.store.clock)
            }
            work.ledger = ledger
        }
        let (found, again, _) = try reopened(open)
        let login = try #require(found)
        #expect(login.tokens.count == 1_501)
        // After another write, the record has the usual size.
        #expect(again.store.commit(.work, login) == .durable)
        #expect(try reopened(again).0?.tokens.count == 1)
    }
}
