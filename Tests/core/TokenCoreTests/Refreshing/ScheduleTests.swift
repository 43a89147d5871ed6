// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

@Suite struct ScheduleTests {
    private func token(lifetime: Duration, jitter: Double) -> AccessToken {
        AccessToken(
            secret: SecretID(rawValue: 1),
            idToken: nil,
            tokenType: "Bearer",
            scope: [],
            obtainedAt: .seconds(0),
            expiresAt: .seconds(0) + lifetime,
            jitter: jitter
        )
    }

    @Test(arguments: [
        (Duration.seconds(900), Duration.seconds(300)),
        (.seconds(3600), .seconds(300)),
        (.seconds(60), .seconds(20)),
        (.seconds(21), .seconds(7)),
        (.seconds(86400), .seconds(300)),
    ])
    func `the lead is five minutes, at most a third of the lifetime`(
        lifetime: Duration,
        lead: Duration
    ) throws {
        let due = try #require(
            RefreshSchedule.dueTime(for: token(lifetime: lifetime, jitter: 0), policy: SessionPolicy())
        )
        #expect(Instant.seconds(0) + lifetime - due == lead)
    }

    @Test(arguments: [
        Duration.seconds(10), .seconds(60), .seconds(900), .seconds(3600), .seconds(1_000_000_000),
    ])
    func `jitter only brings a refresh forward, by a few percent of the time before the end`(
        lifetime: Duration
    ) throws {
        let policy = SessionPolicy()
        let latest = try #require(
            RefreshSchedule.dueTime(for: token(lifetime: lifetime, jitter: 0), policy: policy)
        )
        let earliest = try #require(
            RefreshSchedule.dueTime(for: token(lifetime: lifetime, jitter: 0.999), policy: policy)
        )
        #expect(earliest < latest)
        #expect(latest - earliest <= min(lifetime / 3, .seconds(300)) / 20)
    }

    @Test(.holds("142"), arguments: [Duration.seconds(20), .seconds(1), .zero])
    func `refresh_before is exact, and 0s without any spread`(lead: Duration) throws {
        let policy = SessionPolicy(refreshBefore: lead)
        let token = token(lifetime: .seconds(3600), jitter: 0.999)
        let due = try #require(RefreshSchedule.dueTime(for: token, policy: policy))
        let left = .seconds(0) + .seconds(3600) - due
        #expect(left >= lead && left <= lead * 1.05)
    }

    @Test func `the hosts of a fleet spread over a tenth of the lifetime`() throws {
        let policy = SessionPolicy(isShared: true)
        let latest = RefreshSchedule.dueTime(for: token(lifetime: .seconds(600), jitter: 0), policy: policy)
        let first = RefreshSchedule.dueTime(for: token(lifetime: .seconds(600), jitter: 1), policy: policy)
        #expect(try #require(latest) - #require(first) == .seconds(60))
    }

    @Test(.holds("110"), arguments: [Duration.zero, .seconds(1), .seconds(-5)])
    func `a token that lives shorter than two seconds is not refreshed on a timer`(lifetime: Duration) {
        #expect(
            RefreshSchedule.dueTime(for: token(lifetime: lifetime, jitter: 0), policy: SessionPolicy()) == nil
        )
    }

    @Test(arguments: [
        (Duration.seconds(3600), Duration?.none, Duration.seconds(30)),
        (.seconds(20), nil, .seconds(10)),
        (.seconds(20), .seconds(15), .seconds(15)),
        (.seconds(3600), .zero, .zero),
    ])
    func `the default validity is capped at half of the lifetime, an explicit one is not`(
        lifetime: Duration,
        minimum: Duration?,
        required: Duration
    ) {
        let policy = SessionPolicy()
        let token = token(lifetime: lifetime, jitter: 0)
        #expect(
            RefreshSchedule.requiredValidity(of: token.life, minimum: minimum, policy: policy) == required
        )
    }

    @Test(arguments: [(1, 2), (2, 4), (3, 8), (4, 16), (5, 32), (6, 60), (7, 60), (1000, 60)])
    func `backoff doubles from two seconds to its cap`(failures: Int, seconds: Int) {
        let longest = RetrySchedule.backoff(failures: failures, cap: .seconds(60), jitter: 1)
        let shortest = RetrySchedule.backoff(failures: failures, cap: .seconds(60), jitter: 0)
        #expect(longest == .seconds(seconds))
        #expect(shortest == .seconds(seconds) / 2)
    }

    @Test func `the cap grows once nobody can be served any more`() {
        let now = Instant.seconds(1_000_000)
        #expect(RetrySchedule.cap(tokenExpiresAt: now + .seconds(1), now: now) == .seconds(60))
        #expect(RetrySchedule.cap(tokenExpiresAt: now - .seconds(1), now: now) == .seconds(900))
        #expect(RetrySchedule.cap(tokenExpiresAt: now - .seconds(86400), now: now) == .seconds(3600))
        #expect(RetrySchedule.cap(tokenExpiresAt: nil, now: now) == .seconds(900))
    }

    @Test(.holds("110")) func `instants saturate instead of trapping`() {
        #expect(Instant(nanoseconds: .max) + .seconds(1) == Instant(nanoseconds: .max))
        #expect(Instant(nanoseconds: .min) - .seconds(1) == Instant(nanoseconds: .min))
        #expect(Instant.seconds(0) + .seconds(Int64.max) == Instant(nanoseconds: .max))
        #expect(WallTime(secondsSince1970: .max) + .seconds(1) == WallTime(secondsSince1970: .max))
        // More seconds than 64 bits hold.
        let longest = WallTime(secondsSince1970: .max) - WallTime(secondsSince1970: .min)
        #expect(Instant.seconds(0) + longest == Instant(nanoseconds: .max))
        #expect(Instant.seconds(0) - longest == Instant(nanoseconds: .min))
        #expect(WallTime(secondsSince1970: 0) + longest == WallTime(secondsSince1970: .max))
        #expect(longest.wholeSeconds == .max)
    }

    @Test(arguments: ["work", "a", "A.b_c-9", String(repeating: "x", count: 64)])
    func `plain names are session names`(text: String) {
        #expect(SessionName(text)?.description == text)
    }

    @Test(arguments: [
        "", ".", "-x", "..", "a/b", "a b", "ä", "a\n", "a\0", String(repeating: "x", count: 65),
    ])
    func `anything that could surprise a path or a shell is no session name`(text: String) {
        #expect(SessionName(text) == nil)
    }
}
