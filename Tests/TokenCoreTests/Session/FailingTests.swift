// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

@Suite struct FailingTests {
    private static let temporary: [FailureClass] = [
        .unreachable, .insecure, .ambiguous, .misbehaved, .busy, .storage,
    ]
    private static let correction = "fix the configuration, then tokenctl refresh work"

    @Test(arguments: temporary)
    func `no temporary failure ends a session, however often it comes`(kind: FailureClass) {
        var script = SessionScript.ready()
        for _ in 0..<200 {
            let effects = script.sleepUntilWake()
            guard effects.sendsRequest else { continue }
            #expect(!script.fail(effects, kind).notified.contains(.loginRequired))
        }
        #expect(script.session.status.state == .retrying)
        var effects: [Effect] = []
        while !effects.sendsRequest { effects = script.sleepUntilWake() }
        #expect(script.answer(effects, script.granted()).notified == [.refreshed])
        #expect(script.session.status.state == .ready)
    }

    @Test func `a disk that refuses the reservation means nothing is sent`() {
        var script = SessionScript.ready()
        let due = script.sleepUntilWake()
        guard case .reserve(let number, _)? = due.first else {
            Issue.record("no reservation")
            return
        }
        let full = StorageFailure(message: "No space left on device")
        let effects = script.session.reservationFinished(number, .failed(full), jitter: 0, at: script.moment)
        #expect(!effects.sendsRequest)
        #expect(script.session.status.state == .retrying)
        let (waiter, served) = script.get()
        #expect(served.reply(to: waiter)?.secret == SessionScript.accessToken)
    }

    @Test func `a server known to keep refresh tokens is asked even when the disk is full`() {
        var script = SessionScript.ready(lifetime: .seconds(60))
        for _ in 0..<3 {
            let due = script.sleepUntilWake()
            _ = script.answer(due, script.granted(lifetime: .seconds(60)))
        }
        #expect(script.session.status.rotation == .keeps)
        guard case .reserve(let number, _)? = script.sleepUntilWake().first else {
            Issue.record("no reservation")
            return
        }
        let full = StorageFailure(message: "No space left on device")
        #expect(
            script.session.reservationFinished(number, .failed(full), jitter: 0, at: script.moment)
                .sendsRequest
        )
    }

    @Test func `a lost answer is replayed at once, after 2 s, after 8 s, then a minute before expiry`() {
        var script = SessionScript.ready()
        let begin = script.sleepUntilWake()
        _ = script.fail(begin, .ambiguous)
        var delays: [Duration] = []
        for _ in 0..<4 {
            let before = script.moment.now
            let effects = script.sleepUntilWake()
            delays.append(script.moment.now - before)
            _ = script.fail(effects, .ambiguous)
        }
        #expect(delays == [.zero, .seconds(2), .seconds(8), .seconds(600 - 400 - 10 - 60)])
    }

    @Test func `a refused replay is an honest end, and the access token is served to its end`() {
        var script = SessionScript.ready()
        let begin = script.sleepUntilWake()
        _ = script.fail(begin, .ambiguous)
        let replay = script.sleepUntilWake()
        let effects = script.fail(replay, .grantDead)
        #expect(effects.notified == [.loginRequired])
        #expect(script.session.status.reason == .replyLost)
        let (waiter, served) = script.get()
        #expect(served.reply(to: waiter)?.secret == SessionScript.accessToken)
        script.advance(by: .seconds(600))
        let (late, refused) = script.get()
        #expect(refused.reply(to: late)?.isLoginRequired == true)
        #expect(!script.tick().sendsRequest)
    }

    @Test func `a dead grant is confirmed once before it is final`() {
        var script = SessionScript.ready(lifetime: .seconds(60))
        let begin = script.sleepUntilWake()
        #expect(script.fail(begin, .grantDead).notified == [.loginRequired])
        #expect(script.session.status.state == .loggedOut)
        let before = script.moment.now
        let probe = script.sleepUntilWake()
        #expect((Duration.seconds(30)...Duration.seconds(60)).contains(script.moment.now - before))
        #expect(probe.sendsRequest)
        #expect(script.fail(probe, .grantDead).notified.isEmpty)
        #expect(script.session.status.reason == .grantDead)
        #expect(script.session.wakeTime == before + RetrySchedule.quarantine)
    }

    @Test func `a code that ends the session by definition is not confirmed`() {
        var script = SessionScript.ready(lifetime: .seconds(60))
        let begin = script.sleepUntilWake()
        let before = script.moment.now
        #expect(script.fail(begin, .sessionOver).notified == [.loginRequired])
        #expect(script.session.status.reason == .grantDead)
        #expect(script.session.wakeTime == before + RetrySchedule.quarantine)
    }

    @Test func `a confirmation that works brings the session back`() {
        var script = SessionScript.ready(lifetime: .seconds(60))
        let begin = script.sleepUntilWake()
        _ = script.fail(begin, .grantDead)
        let probe = script.sleepUntilWake()
        #expect(script.answer(probe, script.granted()).notified == [.refreshed])
        #expect(script.session.status.state == .ready)
    }

    @Test func `a bare refusal ends the session only after three over a minute, then is retried hourly`() {
        var script = SessionScript.ready(lifetime: .seconds(30))
        var refusals = 0
        let begin = script.sleepUntilWake()
        let start = script.moment.now
        var effects = script.fail(begin, .unexplained)
        while !effects.notified.contains(.loginRequired) {
            refusals += 1
            let next = script.sleepUntilWake()
            effects = script.fail(next, .unexplained)
        }
        #expect(refusals == 2)
        #expect(script.moment.now - start >= .seconds(60))
        let ended = script.moment.now
        let probe = script.sleepUntilWake()
        #expect(script.moment.now - ended == .seconds(3600))
        #expect(script.answer(probe, script.granted()).notified == [.refreshed])
    }

    @Test(arguments: [FailureClass.misconfigured, .variantRefused])
    func `a configuration error keeps the refresh token and stops`(kind: FailureClass) {
        var script = SessionScript.ready()
        let begin = script.sleepUntilWake()
        _ = script.fail(begin, kind)
        #expect(script.session.status.state == .suspended)
        script.advance(by: .seconds(700))
        let (waiter, effects) = script.get()
        #expect(
            effects.reply(to: waiter) == .failure(.misconfigured(message: "no luck", remedy: Self.correction))
        )
        #expect(!effects.sendsRequest)
        let retry = script.session.retryAllowed(at: script.moment)
        #expect(script.answer(retry, script.granted()).notified == [.refreshed])
    }

    @Test func `a login that does not fit its server is suspended until the next one, which is named`() {
        for (remedy, told) in [(nil, "tokenctl login work"), ("if so", "if so, tokenctl login work")] {
            var script = SessionScript.ready()
            let failure = RefreshFailure(
                kind: .misconfigured,
                message: "no",
                remedy: remedy,
                needsLogin: true
            )
            _ = script.answer(script.sleepUntilWake(), .failed(failure))
            #expect(script.session.status.remedy == told)
            script.advance(by: .seconds(700))
            let (waiter, effects) = script.get()
            #expect(effects.reply(to: waiter) == .failure(.misconfigured(message: "no", remedy: told)))
        }
    }

    @Test func `a refused scope stops that scope only`() {
        var script = SessionScript.ready()
        let admin = TokenVariant(scopes: ["admin"], audience: nil)
        let (first, begin) = script.get(admin)
        #expect(
            script.fail(begin, .variantRefused).reply(to: first)
                == .failure(.misconfigured(message: "no luck", remedy: Self.correction))
        )
        let (second, again) = script.get(admin)
        #expect(
            again.reply(to: second) == .failure(.misconfigured(message: "no luck", remedy: Self.correction))
        )
        #expect(!again.sendsRequest)
        #expect(script.session.status.state == .ready)
    }

    @Test func `someone else's ID token freezes the session and its tokens`() {
        var script = SessionScript.ready()
        let begin = script.sleepUntilWake()
        _ = script.fail(begin, .identityChanged)
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.isLoginRequired == true)
        #expect(!script.sleepUntilWake().sendsRequest)
    }

    @Test func `Retry-After is a lower bound`() {
        var script = SessionScript.ready()
        let begin = script.sleepUntilWake()
        _ = script.fail(begin, .busy, retryAfter: .seconds(120))
        let wake = script.session.wakeTime ?? script.moment.now
        #expect(wake - script.moment.now >= .seconds(120))
        #expect(wake - script.moment.now <= .seconds(132))
        let (_, effects) = script.get(minimum: .seconds(600))
        #expect(!effects.sendsRequest)
    }

    @Test func `requests during an outage add nothing to the backoff schedule of a server that answers`() {
        var script = SessionScript.ready(lifetime: .seconds(60))
        script.advance(by: .seconds(60))
        var requests = 0
        for _ in 0..<600 {
            script.advance(by: .seconds(1))
            let (_, asked) = script.get(wait: .zero)
            for effects in [asked, script.tick(jitter: 0.999)] where effects.sendsRequest {
                requests += 1
                _ = script.fail(effects, .busy)
            }
        }
        #expect(requests <= 10)
    }

    @Test func `when the network is back what could not be sent is sent at once`() {
        var script = SessionScript.ready()
        for _ in 0..<6 {
            let due = script.sleepUntilWake()
            _ = script.fail(due, .unreachable)
        }
        _ = script.session.networkReturned(delay: .seconds(1), at: script.moment)
        #expect(script.session.wakeTime == script.moment.now + .seconds(1))
        let retry = script.sleepUntilWake()
        #expect(script.answer(retry, script.granted()).notified == [.refreshed])
    }

    @Test func `the network coming back does not hurry a server that asked for patience`() {
        var script = SessionScript.ready()
        let due = script.sleepUntilWake()
        _ = script.fail(due, .busy, retryAfter: .seconds(120))
        let planned = script.session.wakeTime
        _ = script.session.networkReturned(delay: .seconds(1), at: script.moment)
        #expect(script.session.wakeTime == planned)
    }
}
