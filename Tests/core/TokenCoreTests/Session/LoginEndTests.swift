// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

@testable import TokenCore

/// When a login ends, and what is done before it.
@Suite struct LoginEndTests {
    private static let day = Duration.seconds(86_400)
    private static let month = day * 30

    /// Refreshes at the session's own pace until `end`, the server answering `answer`; the reasons of its end.
    private func run(
        _ script: inout SessionScript,
        for time: Duration,
        _ answer: (SessionScript, UInt64) -> RefreshOutcome
    ) -> (notices: [EventName], requests: Int) {
        let end = script.moment.now + time
        var notices: [EventName] = []
        var requests: UInt64 = 0
        while let wake = script.session.wakeTime, wake < end {
            let effects = script.sleepUntilWake()
            notices += effects.notified
            script.commitAll(effects)
            guard effects.sendsRequest else { continue }
            requests += 1
            let answered = script.answer(effects, answer(script, requests))
            notices += answered.notified.filter { $0 != .refreshed }
        }
        script.advance(by: end - script.moment.now)
        return (notices, Int(requests))
    }

    /// Lifetimes of access and refresh token, in seconds, of servers that move the end on at each refresh.
    @Test(.holds("142"), arguments: [(60, 4), (3_600, 1_800), (3_600, 3_600), (86_400, 600)])
    func `a login whose refresh token ends before its access token is kept alive`(
        access: Int,
        refresh: Int
    ) {
        var script = SessionScript.ready(
            lifetime: .seconds(access),
            refreshLifetime: .seconds(refresh)
        )
        let (notices, requests) = run(&script, for: .seconds(refresh * 20)) { script, number in
            script.granted(
                lifetime: .seconds(access),
                refreshToken: SecretID(rawValue: 10_000 + number),
                refreshLifetime: RefreshLifetime(.seconds(refresh)),
                secret: 20_000 + number
            )
        }
        #expect(notices == [])
        #expect(script.session.status.state == .ready)
        #expect((20...40).contains(requests))
    }

    @Test func `a refresh that cannot move the end is not repeated`() {
        var script = SessionScript.ready(lifetime: .seconds(3600), refreshLifetime: .seconds(36_000))
        let end = script.moment.now + .seconds(36_000)
        let (notices, requests) = run(&script, for: .seconds(40_000)) { script, number in
            script.granted(
                lifetime: .seconds(3600),
                refreshToken: SecretID(rawValue: 10_000 + number),
                refreshLifetime: RefreshLifetime(end - script.moment.now),
                secret: 20_000 + number
            )
        }
        #expect(notices == [.expiring, .loginRequired])
        #expect((10...12).contains(requests))
    }

    @Test func `an answer that does not repeat the end leaves it where it was`() throws {
        var script = SessionScript.ready(lifetime: .seconds(3600), refreshLifetime: Self.month)
        let end = try #require(script.session.status.refreshExpiresAt)
        for number in 1...3 as ClosedRange<UInt64> {
            let due = script.sleepUntilWake()
            let next = SecretID(rawValue: 10_000 + number)
            _ = script.answer(due, script.granted(lifetime: .seconds(3600), refreshToken: next))
        }
        #expect(script.session.status.refreshExpiresAt == end)
        #expect(script.restarted().session.status.refreshExpiresAt == end)
    }

    @Test(.holds("142")) func `a server that goes on past a presumed end keeps the login`() {
        var script = SessionScript.ready(lifetime: .seconds(3600), refreshLifetime: .seconds(7200))
        let (notices, _) = run(&script, for: .seconds(72_000)) { script, number in
            script.granted(
                lifetime: .seconds(3600),
                refreshToken: SecretID(rawValue: 10_000 + number),
                secret: 20_000 + number
            )
        }
        #expect(!notices.contains(.loginRequired))
        #expect(script.session.status.state == .ready)
    }

    @Test(.holds("142"), arguments: [1, 3, 10])
    func `a tenth of the login's life before its end, at most three days, there is one notice`(tens: Int) {
        let life = Self.day * 10 * tens
        var script = SessionScript.ready(
            lifetime: .seconds(3600),
            policy: SessionPolicy(maximumSessionAge: life)
        )
        let begin = script.moment.now
        var noticed: [Instant] = []
        while script.session.status.state != .loggedOut {
            let effects = script.sleepUntilWake()
            script.commitAll(effects)
            if effects.notified.contains(.expiring) { noticed.append(script.moment.now) }
            // A restart in between is no reason for another one.
            if effects.notified.contains(.expiring) { script = script.restarted() }
            guard effects.sendsRequest else { continue }
            let granted = script.granted(lifetime: .seconds(86_000))
            _ = script.answer(effects, granted)
        }
        #expect(noticed == [begin + life - min(Self.day * 3, life / 10)])
    }

    @Test func `an end that every refresh moves on is not announced`() {
        var script = SessionScript.ready(
            lifetime: .seconds(300),
            policy: SessionPolicy(warnBefore: Self.day),
            refreshLifetime: .seconds(1800)
        )
        let (notices, _) = run(&script, for: Self.day) { script, number in
            script.granted(
                lifetime: .seconds(300),
                refreshToken: SecretID(rawValue: 10_000 + number),
                refreshLifetime: RefreshLifetime(.seconds(1800)),
                secret: 20_000 + number
            )
        }
        #expect(notices == [])
    }

    @Test func `the end that a person has to know is in the status`() {
        let age = Self.day * 7
        let script = SessionScript.ready(
            policy: SessionPolicy(maximumSessionAge: age),
            refreshLifetime: Self.month
        )
        let status = script.session.status
        #expect(status.maximumAge == age)
        #expect(status.loginEndsAt == script.moment.now + age)
        #expect(status.refreshExpiresAt == script.moment.now + Self.month)
    }

    @Test func `the time of the login does not slip at restarts`() throws {
        var script = SessionScript.ready()
        let fraction = WallTime(secondsSince1970: 1_800_000_100, fraction: 999_999_999)
        script.moment = Moment(now: script.moment.now + .seconds(100), wallTime: fraction)
        let loggedIn = try #require(script.session.status.loggedInTime)
        for _ in 0..<20 {
            script = script.restarted()
            script.advance(by: .milliseconds(1_300))
        }
        #expect(script.session.status.loggedInTime == loggedIn)
    }

    @Test(.holds("142"), arguments: [FailureClass.busy, .unreachable, .ambiguous, .insecure, .misbehaved])
    func `however often a refresh fails, it is tried again before the refresh token ends`(
        kind: FailureClass
    ) {
        var script = SessionScript.ready(lifetime: .seconds(60), refreshLifetime: .seconds(120))
        let end = script.moment.now + .seconds(120)
        var last = script.moment.now
        var tries = 0
        while script.session.status.state != .loggedOut {
            let effects = script.sleepUntilWake(jitter: 0.999)
            guard effects.sendsRequest else { continue }
            tries += 1
            last = script.moment.now
            _ = script.answer(effects, .failed(RefreshFailure(kind: kind, message: "x")), jitter: 0.999)
        }
        #expect(end - last <= .seconds(5))
        #expect(tries < 30)
    }

    @Test func `a server that asks for patience is not hurried by the end of the refresh token`() {
        var script = SessionScript.ready(lifetime: .seconds(60), refreshLifetime: .seconds(120))
        let due = script.sleepUntilWake()
        _ = script.fail(due, .busy, retryAfter: .seconds(50))
        let wake = script.session.wakeTime ?? script.moment.now
        #expect(wake - script.moment.now >= .seconds(50))
    }
}
