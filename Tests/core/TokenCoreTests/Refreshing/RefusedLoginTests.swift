// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// Refusals without a reason that come with other events: a login that is over is noticed, and one that is not is kept.
@Suite struct RefusedLoginTests {
    /// A session whose access token has ended, and the refresh that is then due.
    private func expired() -> (SessionScript, [Effect]) {
        var script = SessionScript.ready(lifetime: .seconds(60))
        script.advance(by: .seconds(60))
        let due = script.tick()
        return (script, due)
    }

    /// Lets the server refuse until the login ends; returns how often it did, at most `most` times.
    private func refusals(_ script: inout SessionScript, from effects: [Effect], most: Int = 10) -> Int {
        var effects = effects
        for count in 1...most {
            guard !script.fail(effects, .unexplained).notified.contains(.loginRequired) else { return count }
            effects = script.sleepUntilWake()
        }
        return most + 1
    }

    @Test(arguments: [FailureClass.busy, .unreachable, .misbehaved, .storage, .helperFailed, .insecure])
    func `trouble between refusals does not keep a login that is over`(failure: FailureClass) {
        var (script, effects) = expired()
        var count = 0
        while count < 20 {
            count += 1
            let failed = script.fail(effects, count % 2 == 1 ? .unexplained : failure)
            guard !failed.notified.contains(.loginRequired) else { break }
            effects = script.sleepUntilWake()
        }
        #expect(script.session.status.reason == .refusedWithoutReason)
        #expect(count == 5)
    }

    @Test(arguments: [FailureClass.busy, .unreachable, .ambiguous])
    func `two refusals and a week of trouble end no login`(failure: FailureClass) {
        var (script, effects) = expired()
        for _ in 0..<2 {
            _ = script.fail(effects, .unexplained)
            effects = script.sleepUntilWake()
        }
        let start = script.moment.now
        while script.moment.now - start < .seconds(7 * 86_400) {
            #expect(!script.fail(effects, failure).notified.contains(.loginRequired))
            effects = script.sleepUntilWake()
        }
        #expect(script.answer(effects, script.granted()).notified == [.refreshed])
    }

    @Test func `a success between refusals restarts the count`() {
        var (script, effects) = expired()
        for _ in 0..<5 {
            for _ in 0..<2 {
                _ = script.fail(effects, .unexplained)
                effects = script.sleepUntilWake()
            }
            _ = script.answer(effects, script.granted(lifetime: .seconds(60)))
            #expect(script.session.status.state == .ready)
            script.advance(by: .seconds(60))
            effects = script.tick()
        }
        #expect(refusals(&script, from: effects) == 3)
    }

    @Test func `starts of the agent between refusals end no login, and hide no end for long`() {
        var (script, effects) = expired()
        for _ in 0..<6 {
            #expect(!script.fail(effects, .unexplained).notified.contains(.loginRequired))
            script.advance(by: .seconds(60))
            script = script.restarted()
            effects = script.sleepUntilWake()
            #expect(effects.sendsRequest)
        }
        let start = script.moment.now
        #expect(refusals(&script, from: effects) == 3)
        #expect(script.moment.now - start <= .seconds(120))
    }

    @Test func `a person who refreshes again and again ends no login within half a minute`() {
        var (script, effects) = expired()
        _ = script.fail(effects, .unexplained)
        for _ in 0..<29 {
            script.advance(by: .seconds(1))
            effects = script.force()
            #expect(!script.fail(effects, .unexplained).notified.contains(.loginRequired))
        }
        // It is not put off for ever, either.
        var late = 0
        while script.session.status.state != .loggedOut, late < 10 {
            late += 1
            _ = script.fail(script.sleepUntilWake(), .unexplained)
        }
        #expect(late <= 2)
    }

    @Test func `refusals of a scope say nothing about the login`() {
        let admin = TokenVariant(scopes: ["admin"], audience: nil)
        var script = SessionScript.ready(lifetime: .seconds(3_600))
        var sent = 0
        for _ in 0..<20 {
            let (_, asked) = script.get(admin)
            let effects = asked + script.tick()
            sent += effects.sendsRequest ? 1 : 0
            #expect(!script.fail(effects, .unexplained).notified.contains(.loginRequired))
            script.advance(by: .seconds(31))
        }
        // Nor is the server asked at the rate of the requests.
        #expect(sent == 1)
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == SessionScript.accessToken)
        #expect(script.session.status.state != .loggedOut)
    }

    @Test func `steps of the clock between refusals end no login before its token`() {
        var script = SessionScript.ready(lifetime: .seconds(3_600))
        let expiry = script.moment.now + .seconds(3_600)
        var effects = script.sleepUntilWake()
        var number = 0
        while script.moment.now < expiry {
            number += 1
            #expect(!script.fail(effects, .unexplained).notified.contains(.loginRequired))
            script.stepWallClock(by: .seconds(number % 2 == 0 ? -86_400 : 86_400))
            effects = script.sleepUntilWake()
        }
        #expect(script.answer(effects, script.granted()).notified == [.refreshed])
    }

    @Test(arguments: [true, false])
    func `an ended login is tried every hour for a month, and comes back`(restarts: Bool) {
        var (script, effects) = expired()
        #expect(refusals(&script, from: effects) == 3)
        let ended = script.moment.now
        var probes = 0
        while script.moment.now - ended < .seconds(29 * 86_400) {
            if restarts { script = script.restarted() }
            let before = script.moment.now
            effects = script.sleepUntilWake()
            #expect(effects.sendsRequest && script.moment.now - before == .seconds(3_600))
            let kinds: [FailureClass] = [.unexplained, .busy, .unreachable, .misconfigured]
            #expect(script.fail(effects, kinds[probes % kinds.count]).notified.isEmpty)
            probes += 1
        }
        let (waiter, refused) = script.get(wait: .zero)
        #expect(refused.reply(to: waiter)?.isLoginRequired == true)
        #expect(script.answer(script.sleepUntilWake(), script.granted()).notified == [.refreshed])
        #expect(script.session.status.state == .ready)
    }

    @Test func `that a client has refreshed before is known after a start of the agent`() {
        var script = SessionScript.ready(lifetime: .seconds(60))
        let rotated = SecretID(rawValue: 510)
        let due = script.sleepUntilWake()
        _ = script.answer(due, script.granted(lifetime: .seconds(60), refreshToken: rotated))
        script = script.restarted()
        #expect(script.fail(script.sleepUntilWake(), .clientUnauthorized).notified == [.loginRequired])
        #expect(script.session.status.reason == .grantDead)
    }

    @Test func `a rejected client between refusals is neither the settings' fault nor forgotten`() {
        var (script, effects) = expired()
        let kinds: [FailureClass] = [.unexplained, .clientRejected, .unexplained, .clientRejected]
        for kind in kinds {
            #expect(!script.fail(effects, kind).notified.contains(.loginRequired))
            #expect(script.session.status.state == .retrying)
            effects = script.sleepUntilWake()
        }
        #expect(script.fail(effects, .unexplained).notified.contains(.loginRequired))
        #expect(script.session.status.reason == .refusedWithoutReason)
    }
}
