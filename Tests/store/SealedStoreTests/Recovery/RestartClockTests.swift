// SPDX-License-Identifier: MIT

import SecretMemory
import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// The remaining validity of a stored token after a restart.
///
/// The token is stored at boot time 10,000 s and wall time 1,800,000,000. It was obtained 1,000 s before and is valid
/// for another 2,600 s.
struct RestartClockTests {
    struct Restart: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var sameBoot: Bool
        var now: Int64
        var wallTime: Int64
        /// The remaining validity in seconds, or `0` if the token must be refreshed.
        var remaining: Int64
    }

    static let restarts = [
        Restart(
            testDescription: "at once",
            sameBoot: true,
            now: 10_000,
            wallTime: 1_800_000_000,
            remaining: 2600
        ),
        Restart(
            testDescription: "after 10 minutes",
            sameBoot: true,
            now: 10_600,
            wallTime: 1_800_000_600,
            remaining: 2000
        ),
        Restart(
            testDescription: "wall clock a year ahead",
            sameBoot: true,
            now: 10_600,
            wallTime: 1_831_536_000,
            remaining: 2000
        ),
        Restart(
            testDescription: "wall clock two years back",
            sameBoot: true,
            now: 10_600,
            wallTime: 1_736_928_000,
            remaining: 2000
        ),
        Restart(
            testDescription: "boot clock back within one boot",
            sameBoot: true,
            now: 9_500,
            wallTime: 1_800_000_000,
            remaining: 0
        ),
        Restart(
            testDescription: "reboot, 10 minutes later",
            sameBoot: false,
            now: 50,
            wallTime: 1_800_000_600,
            remaining: 1999
        ),
        Restart(
            testDescription: "reboot, a day later",
            sameBoot: false,
            now: 50,
            wallTime: 1_800_086_400,
            remaining: -83_801
        ),
        Restart(
            testDescription: "reboot, clock two years back",
            sameBoot: false,
            now: 50,
            wallTime: 1_736_928_000,
            remaining: 0
        ),
        Restart(
            testDescription: "reboot, clock at the end of time",
            sameBoot: false,
            now: 50,
            wallTime: .max,
            remaining: .min
        ),
        Restart(
            testDescription: "reboot, clock before time",
            sameBoot: false,
            now: 50,
            wallTime: .min,
            remaining: 0
        ),
    ]

    @Test(.holds("109"), arguments: restarts)
    func `a token never looks younger after a restart`(restart: Restart) throws {
        let fixture = StoreFixture()
        let (first, _) = try fixture.unlocked()
        try first.commitDurably("RT-1")
        first.store.close()
        fixture.clocks.set(now: .seconds(restart.now), wallTime: restart.wallTime)
        if !restart.sameBoot { fixture.boot = RandomID(high: 3, low: 4) }
        let (_, loaded) = try fixture.unlocked()
        let token = try #require(loaded.sessions.first?.snapshot.tokens[.primary])
        #expect(token.obtainedAt <= fixture.clocks.now)
        let expiresAt = try #require(token.expiresAt)
        #expect(token.obtainedAt <= expiresAt)
        let remaining = expiresAt - fixture.clocks.now
        if restart.remaining == .min {
            #expect(remaining < .zero)
        } else {
            #expect(remaining == .seconds(restart.remaining))
        }
    }

    @Test(.holds("109")) func `absurd stored times are due, not a trap`() throws {
        for (obtained, expires) in [
            (Int64.max, Int64.max), (.min, .max), (.max, .min), (.min, .min), (0, .max),
        ] {
            let fixture = StoreFixture()
            let (first, _) = try fixture.unlocked()
            var snapshot = try first.snapshot(refreshToken: "RT-1")
            snapshot.tokens[.primary]?.obtainedAt = Instant(nanoseconds: obtained)
            snapshot.tokens[.primary]?.expiresAt = Instant(nanoseconds: expires)
            #expect(first.store.commit(.work, snapshot) == .durable)
            first.store.close()
            fixture.boot = RandomID(high: 3, low: 4)
            let (_, loaded) = try fixture.unlocked()
            let token = try #require(loaded.sessions.first?.snapshot.tokens[.primary])
            #expect(token.obtainedAt <= fixture.clocks.now)
            #expect(try token.obtainedAt <= #require(token.expiresAt))
        }
    }

    @Test(.holds("109")) func `a token from before a step of the wall clock may have expired`() throws {
        for (step, isPossiblyExpired) in [(0, false), (50, false), (28_800, true), (-28_800, false)]
            as [(Int64, Bool)]
        {
            let fixture = StoreFixture()
            let (first, _) = try fixture.unlocked()
            try first.commitDurably("RT-1")
            first.store.close()
            fixture.clocks.set(now: .seconds(10_600), wallTime: 1_800_000_600 + step)
            let (_, loaded) = try fixture.unlocked()
            let snapshot = try #require(loaded.sessions.first?.snapshot)
            #expect((snapshot.tokens[.primary]?.standing == .possiblyExpired) == isPossiblyExpired)
            #expect(!snapshot.isDatedByWallClock)
        }
    }

    @Test func `a record from before a reboot is known as one`() throws {
        let fixture = StoreFixture()
        let (first, _) = try fixture.unlocked()
        try first.commitDurably("RT-1")
        first.store.close()
        fixture.clocks.set(now: .seconds(50), wallTime: 1_800_000_600)
        fixture.boot = RandomID(high: 3, low: 4)
        let (_, loaded) = try fixture.unlocked()
        let snapshot = try #require(loaded.sessions.first?.snapshot)
        #expect(snapshot.isDatedByWallClock)
        #expect(snapshot.tokens[.primary]?.standing == .good)
    }
}
