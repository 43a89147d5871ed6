// SPDX-License-Identifier: MIT

import SecretMemory
import TestSupport
import Testing
import TokenCore

@testable import SealedStore

struct SnapshotCodingTests {
    let fixture = StoreFixture()

    /// Everything of a snapshot but the identifiers of its secrets, which differ after each start.
    func restored(
        _ change: (inout SessionSnapshot, OpenStore) throws -> Void
    ) throws -> (SessionSnapshot, OpenStore) {
        let (first, _) = try fixture.unlocked()
        var snapshot = try first.snapshot(refreshToken: "RT-1", idToken: "ID-1")
        try change(&snapshot, first)
        #expect(first.store.commit(.work, snapshot) == .durable)
        first.store.close()
        let (second, loaded) = try fixture.unlocked()
        return (try #require(loaded.sessions.first).snapshot, second)
    }

    private static let end = LoginExpiry(
        at: .seconds(30_000),
        since: .seconds(9_500),
        lifetime: .seconds(20_500),
        source: .presumed,
        mobility: .moves
    )

    /// Each standing of a token, and what is left of it after a restart.
    @Test(
        .holds("141"),
        arguments: [
            (AccessToken.Acceptance.good, AccessToken.Acceptance.good), (.doubtful, .doubtful),
            (.onTrial(since: .seconds(9_000)), .doubtful),
            (.refused(isRepeat: false), .refused(isRepeat: false)),
            (.possiblyExpired, .possiblyExpired),
            (.refused(isRepeat: true), .refused(isRepeat: true)),
        ]
    )
    func `a token that may not be served is not served after a restart`(
        standing: AccessToken.Acceptance,
        after: AccessToken.Acceptance
    ) throws {
        let mail = TokenVariant(scopes: ["mail"], audience: nil)
        let (snapshot, _) = try restored { snapshot, open in
            var token = try #require(snapshot.tokens[.primary])
            token.secret = try open.secret("AT-mail", .accessToken)
            token.standing = standing
            snapshot.tokens[mail] = token
        }
        #expect(snapshot.tokens[.primary]?.standing == .good)
        #expect(snapshot.tokens[mail]?.standing == after)
    }

    @Test func `a token without end has none after a restart`() throws {
        let (snapshot, _) = try restored { snapshot, _ in snapshot.tokens[.primary]?.expiresAt = nil }
        let token = try #require(snapshot.tokens[.primary])
        #expect(token.expiresAt == nil)
    }

    @Test func `every field survives`() throws {
        let until = WallTime(secondsSince1970: 1_900_000_000)
        let print = try #require(TokenFingerprint(Array(0..<32)))
        let (snapshot, _) = try restored { snapshot, _ in
            snapshot.standing = .ended(.replyLost, quarantinedUntil: until)
            snapshot.refreshTokenSent = true
            snapshot.loginBegan = .seconds(9_000)
            snapshot.end = Self.end
            snapshot.noticedEnd = .seconds(20_000)
            snapshot.refused = RejectedTokens([print])
            snapshot.coexistence = .disproven
            snapshot.rotation = .unknown(unchanged: 2)
            snapshot.refreshExpiresAt = until
            snapshot.subject = "søren"
            snapshot.account = "søren@example.org"
            snapshot.keptMembers = ["userId": "42", "deviceId": ""]
        }
        #expect(snapshot.standing == .ended(.replyLost, quarantinedUntil: until))
        #expect(snapshot.refreshTokenSent)
        #expect(snapshot.loginBegan == .seconds(9_000))
        #expect(snapshot.end == Self.end)
        #expect(snapshot.noticedEnd == .seconds(20_000))
        #expect(snapshot.refused == RejectedTokens([print]))
        #expect(snapshot.coexistence == .disproven)
        #expect(snapshot.rotation == .unknown(unchanged: 2))
        #expect(snapshot.refreshExpiresAt == until)
        #expect(snapshot.subject == "søren")
        #expect(snapshot.account == "søren@example.org")
        #expect(snapshot.keptMembers == ["userId": "42", "deviceId": ""])
        #expect(snapshot.loggedInAt == WallTime(secondsSince1970: 1_799_999_000))
        #expect(snapshot.tokenEndpoint == "https://id.example.com/token")
        #expect(snapshot.tokens[.primary]?.jitter == 0.25)
    }

    @Test(arguments: [EndReason.grantDead, .clientUnknown])
    func `how and when a login ended survives`(reason: EndReason) throws {
        let words = "id.example answered 400 invalid_grant: it is over"
        let ending = LoginEndDetails(message: words, at: WallTime(secondsSince1970: 1_800_000_123))
        let (snapshot, _) = try restored { snapshot, _ in
            snapshot.standing = .ended(reason, quarantinedUntil: nil)
            snapshot.ending = ending
        }
        #expect(snapshot.standing == .ended(reason, quarantinedUntil: nil))
        #expect(snapshot.ending == ending)
        #expect(try restored { snapshot, _ in snapshot.ending = ending }.0.ending == nil)
    }

    @Test func `who logged in may be unknown`() throws {
        let (snapshot, _) = try restored { snapshot, _ in snapshot.account = nil }
        #expect(snapshot.account == nil)
    }

    @Test(.holds("O53"), arguments: [nil, "alice"])
    func `the key that tokens are bound to survives`(account: String?) throws {
        let bytes = String(repeating: "k", count: 32)
        let (snapshot, open) = try restored { snapshot, open in
            snapshot.account = account
            snapshot.proofKey = try open.secret(bytes, .proofKey)
        }
        #expect(snapshot.account == account)
        let key = try #require(snapshot.proofKey)
        #expect(try open.text(key) == bytes)
    }

    @Test(arguments: EndReason.allCases)
    func `every reason for an end survives`(reason: EndReason) throws {
        let (snapshot, _) = try restored { snapshot, _ in
            snapshot.standing = .ended(reason, quarantinedUntil: nil)
        }
        #expect(snapshot.standing == .ended(reason, quarantinedUntil: nil))
    }

    @Test(arguments: [RenewalMethod.withoutLogin, .impossible])
    func `sessions without refresh token survive`(renewal: RenewalMethod) throws {
        let (snapshot, _) = try restored { snapshot, _ in snapshot.renewal = renewal }
        #expect(snapshot.renewal == renewal)
    }

    @Test(arguments: [RotationHabit.rotates, .keeps])
    func `what was learned about rotation survives`(habit: RotationHabit) throws {
        let (snapshot, _) = try restored { snapshot, _ in snapshot.rotation = habit }
        #expect(snapshot.rotation == habit)
    }

    @Test func `tokens of several scopes survive and share their ID token`() throws {
        let mail = TokenVariant(scopes: ["mail", "calendar"], audience: "https://api.example.com")
        let (snapshot, open) = try restored { snapshot, open in
            var token = try #require(snapshot.tokens[.primary])
            token.secret = try open.secret("AT-mail", .accessToken)
            snapshot.tokens[mail] = token
        }
        let primary = try #require(snapshot.tokens[.primary])
        let other = try #require(snapshot.tokens[mail])
        #expect(try open.text(other.secret) == "AT-mail")
        #expect(other.idToken == primary.idToken)
        #expect(snapshot.secrets.count == 4)
    }

    @Test(.holds("65"), arguments: [0, 1, 2, 254])
    func `how often a start found a refresh without its end survives`(interruptions: Int) throws {
        let (first, _) = try fixture.unlocked()
        var snapshot = try first.snapshot(refreshToken: "RT-1")
        #expect(first.store.commit(.work, snapshot) == .durable)
        snapshot.refreshTokenSent = true
        snapshot.interruptions = interruptions
        try first.store.reserve(.work, snapshot)
        first.store.close()
        // Found by the next start, which counts itself before it sends, and ends as well.
        let (second, loaded) = try fixture.unlocked()
        let found = try #require(loaded.sessions.first)
        #expect(found.isInterrupted && found.snapshot.interruptions == interruptions)
        var counted = found.snapshot
        counted.interruptions += 1
        try second.store.reserve(.work, counted)
        second.store.close()
        let third = try #require(try fixture.unlocked().1.sessions.first)
        #expect(third.isInterrupted && third.snapshot.interruptions == min(254, interruptions + 1))
    }

    @Test(.holds("74")) func `more than a record can say is a failure, and the record of before stays`()
        throws
    {
        let (first, _) = try fixture.unlocked()
        var snapshot = try first.snapshot(refreshToken: "RT-1")
        #expect(first.store.commit(.work, snapshot) == .durable)
        snapshot.tokens[.primary]?.scope = (0..<70_000).map { "s\($0)" }
        let outcome = first.store.commit(.work, snapshot)
        guard case .memoryOnly(let failure) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(failure.message.contains("70000"))
        #expect(throws: StorageFailure.self) {
            try first.store.reserve(.work, snapshot)
        }
        first.store.close()
        let (second, loaded) = try fixture.unlocked()
        #expect(try second.refreshToken(of: try #require(loaded.sessions.first).snapshot) == "RT-1")
    }

    @Test func `a large answer gets a larger file`() throws {
        let (first, _) = try fixture.unlocked()
        let large = String(repeating: "x", count: 100_000)
        let old = try first.snapshot(refreshToken: "RT-1")
        #expect(first.store.commit(.work, old) == .durable)
        try first.store.reserve(.work, old)
        #expect(
            first.store.commit(.work, try first.snapshot(refreshToken: "RT-2", accessToken: large))
                == .durable
        )
        first.store.close()
        let (second, loaded) = try fixture.unlocked()
        let snapshot = try #require(loaded.sessions.first).snapshot
        #expect(try second.refreshToken(of: snapshot) == "RT-2")
        #expect(try second.text(try #require(snapshot.tokens[.primary]).secret) == large)
    }

    @Test(.holds("38")) func `nothing is in clear on disk, not even names`() throws {
        let (open, _) = try fixture.unlocked()
        let snapshot = try open.snapshot(
            refreshToken: "CANARY-RT",
            accessToken: "CANARY-AT",
            idToken: "CANARY-ID"
        )
        #expect(open.store.commit(.named("canary-session"), snapshot) == .durable)
        try open.store.reserve(.named("canary-session"), snapshot)
        open.store.close()
        let paths = Disk.names(fixture.statePath).map { "\(fixture.statePath)/\($0)" }
        for path in paths + fixture.records() + fixture.records("new") {
            let text = String(decoding: Disk.read(path) ?? [], as: UTF8.self)
            for canary in ["CANARY", "canary", "example.com", "Bearer"] {
                #expect(!text.contains(canary), "\(canary) in \(path)")
            }
        }
    }

    @Test func `the length of a token does not show`() throws {
        let (open, _) = try fixture.unlocked()
        var counts: Set<UInt32> = []
        for length in 1...40 {
            let token = String(repeating: "t", count: length)
            #expect(open.store.commit(.work, try open.snapshot(refreshToken: token)) == .durable)
            let path = try #require(fixture.records().first)
            let record = try #require(Disk.read(path))
            let (_, count) = try RecordHeader.parse(Array(record[(record.count / 2)...]))
            counts.insert(UInt32(count))
        }
        #expect(counts.count == 1)
    }

    @Test(.holds("47")) func `no nonce is used twice, also across restarts and in a copy`() async throws {
        var nonces: Set<[UInt8]> = []
        let copy = StoreFixture()
        let rounds = TestEnvironment.isFull ? 1_000 : 20
        for round in 0..<rounds {
            await Task.yield()
            for fixture in round < rounds / 2 ? [fixture] : [fixture, copy] {
                let (open, _) = try fixture.unlocked()
                for number in 0..<10 {
                    try open.commitDurably("RT-\(number)")
                    let path = try #require(fixture.records().first)
                    let record = try #require(Disk.read(path))
                    let start = record.count / 2 + RecordHeader.count
                    let isNew = nonces.insert(Array(record[start..<start + AEAD.nonceCount])).inserted
                    #expect(isNew)
                }
                open.store.close()
            }
            if round == rounds / 2 - 1 { Disk.copy(fixture.statePath, to: copy.statePath) }
        }
        #expect(nonces.count == 15 * rounds)
        Attachment.record(
            "\(nonces.count) records in \(rounds) restarts and a copy, 0 repeats",
            named: "figure"
        )
    }

    @Test(.holds("47")) func `no nonce is used twice in many seals under one key`() async {
        let (text, key) = ([UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: AEAD.keyCount))
        let seals = TestEnvironment.isFull ? 1_000_000 : 20_000
        var nonces: Set<[UInt8]> = []
        nonces.reserveCapacity(seals)
        for number in 0..<seals {
            if number % 1_000 == 0 { await Task.yield() }
            let sealed = text.withUnsafeBytes { text in
                key.withUnsafeBytes { AEAD.seal(text, associated: [], key: $0) }
            }
            nonces.insert(Array(sealed.prefix(AEAD.nonceCount)))
        }
        #expect(nonces.count == seals)
        Attachment.record("\(seals) seals, \(seals - nonces.count) repeats", named: "figure")
    }

    @Test func `generations only grow, across restarts and logins`() throws {
        var last: UInt64 = 0
        for round in 0..<10 {
            let (open, loaded) = try fixture.unlocked()
            if let session = loaded.sessions.first, round.isMultiple(of: 2) {
                try open.store.reserve(.work, session.snapshot)
                open.store.release(.work, answered: round.isMultiple(of: 4))
            }
            try open.commitDurably("RT-\(round)")
            open.store.close()
            let path = try #require(fixture.records().first)
            let record = try #require(Disk.read(path))
            let (header, _) = try RecordHeader.parse(Array(record[(record.count / 2)...]))
            #expect(header.generation > last)
            last = header.generation
        }
    }
}
