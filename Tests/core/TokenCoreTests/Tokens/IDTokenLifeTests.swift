// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// ID tokens end by themselves, before or after the access token beside them.
@Suite struct IDTokenLifeTests {
    private static let fresh = SecretID(rawValue: 501)

    /// A session with an access token of an hour and an ID token of ten minutes.
    private func script() -> SessionScript {
        SessionScript.ready(
            lifetime: .seconds(3_600),
            idToken: SessionScript.idToken,
            idTokenLifetime: .seconds(600)
        )
    }

    private func idToken(in reply: Reply?) -> SecretID? {
        guard case .token(let token) = reply else { return nil }
        return token.idToken?.secret
    }

    /// The script at a moment with `left` of the ID token's life, once a refresh that brought no other one is over.
    private func notRenewed(left: Duration) -> SessionScript {
        var script = script()
        script.advance(by: .seconds(600) - left)
        let (_, refresh) = script.get(idToken: true)
        _ = script.answer(refresh, script.granted(lifetime: .seconds(3_600)))
        return script
    }

    @Test func `an ID token that is about to end is renewed, and all who wait get the new one`() {
        var script = script()
        script.advance(by: .seconds(600 - 29))
        let (first, refresh) = script.get(idToken: true)
        let (second, joined) = script.get(idToken: true)
        #expect(refresh.sendsRequest && joined.isEmpty)
        let granted = script.granted(
            lifetime: .seconds(3_600),
            idToken: Self.fresh,
            idTokenLifetime: .seconds(600)
        )
        let effects = script.answer(refresh, granted)
        #expect(idToken(in: effects.reply(to: first)) == Self.fresh)
        #expect(idToken(in: effects.reply(to: second)) == Self.fresh)
        #expect(script.session.primaryToken?.life(isID: true).lifetime == .seconds(600))
    }

    @Test func `the end of an ID token concerns nobody who wants the access token`() {
        var script = script()
        script.advance(by: .seconds(700))
        let (waiter, effects) = script.get(minimum: .seconds(2_000))
        #expect(effects.reply(to: waiter)?.secret == SessionScript.accessToken)
        #expect(!effects.sendsRequest)
    }

    @Test func `an ID token is given out although its access token has ended`() {
        var script = SessionScript.ready(
            lifetime: .seconds(60),
            idToken: SessionScript.idToken,
            idTokenLifetime: .seconds(600)
        )
        script.advance(by: .seconds(70))
        let (waiter, effects) = script.get(minimum: .seconds(500), idToken: true)
        #expect(idToken(in: effects.reply(to: waiter)) == SessionScript.idToken)
    }

    @Test func `an ID token that names no end lasts as long as its access token`() {
        var script = SessionScript.ready(lifetime: .seconds(3_600), idToken: SessionScript.idToken)
        script.advance(by: .seconds(3_000))
        let (first, served) = script.get(idToken: true)
        #expect(idToken(in: served.reply(to: first)) == SessionScript.idToken)
        script.advance(by: .seconds(590))
        let (second, effects) = script.get(idToken: true)
        #expect(effects.reply(to: second) == nil)
    }

    @Test func `an explicit minimum counts for the ID token`() {
        var script = script()
        let (first, refused) = script.get(minimum: .seconds(700), idToken: true)
        #expect(refused.reply(to: first) == .failure(.validityUnattainable(lifetime: .seconds(600))))
        script.advance(by: .seconds(100))
        let (second, served) = script.get(minimum: .seconds(500), idToken: true)
        #expect(idToken(in: served.reply(to: second)) == SessionScript.idToken)
        let (third, refresh) = script.get(minimum: .seconds(501), idToken: true)
        #expect(refresh.sendsRequest)
        let effects = script.answer(refresh, script.granted(lifetime: .seconds(3_600)))
        #expect(effects.reply(to: third) == .failure(.idTokenNotRenewed(remedy: nil)))
    }

    @Test(arguments: [true, false])
    func `an ID token that no refresh renews costs one refresh, however many ask for it`(isRestarted: Bool) {
        var script = notRenewed(left: .seconds(-1))
        if isRestarted { script = script.restarted() }
        for _ in 0..<1_000 {
            script.advance(by: .seconds(1))
            let (waiter, effects) = script.get(idToken: true)
            #expect(effects == [.reply(waiter, .failure(.idTokenNotRenewed(remedy: nil)))])
        }
        let (waiter, served) = script.get()
        #expect(served.reply(to: waiter)?.secret == SecretID(rawValue: 500))
        #expect(script.session.isIDTokenExpired(of: .primary, at: script.moment.now))
    }

    @Test func `an ID token that no refresh renews is given out in its last seconds, not after them`() {
        var script = notRenewed(left: .seconds(20))
        let (first, served) = script.get(idToken: true)
        #expect(idToken(in: served.reply(to: first)) == SessionScript.idToken && served.count == 1)
        script.advance(by: .milliseconds(19_001))
        // It had too little left already when the last refresh was made.
        let (second, refused) = script.get(idToken: true)
        #expect(refused == [.reply(second, .failure(.idTokenNotRenewed(remedy: nil)))])
    }

    @Test func `the refresh of an access token may bring the ID token that was missed`() {
        var script = notRenewed(left: .seconds(-1))
        let refresh = script.sleepUntilWake()
        let granted = script.granted(
            lifetime: .seconds(3_600),
            secret: 502,
            idToken: Self.fresh,
            idTokenLifetime: .seconds(600)
        )
        _ = script.answer(refresh, granted)
        let (waiter, effects) = script.get(idToken: true)
        #expect(idToken(in: effects.reply(to: waiter)) == Self.fresh)
    }

    /// The script once a refresh has brought an ID token that had already ended.
    private func endedAtOnce() -> SessionScript {
        var script = script()
        script.advance(by: .seconds(600))
        let (waiter, refresh) = script.get(idToken: true)
        let granted = script.granted(
            lifetime: .seconds(3_600),
            idToken: Self.fresh,
            idTokenLifetime: .zero
        )
        let refused = Reply.failure(.idTokenNotRenewed(remedy: nil))
        #expect(script.answer(refresh, granted).reply(to: waiter) == refused)
        return script
    }

    @Test(arguments: [true, false])
    func `an ID token that has ended when it comes costs one refresh, however many ask`(isRestarted: Bool) {
        var script = endedAtOnce()
        if isRestarted { script = script.restarted() }
        let refused = Reply.failure(.idTokenNotRenewed(remedy: nil))
        for _ in 0..<1_000 {
            script.advance(by: .seconds(1))
            let (waiter, effects) = script.get(idToken: true)
            #expect(effects == [.reply(waiter, refused)])
        }
        // It is no measure of what others could last.
        let (waiter, effects) = script.get(minimum: .seconds(60), idToken: true)
        #expect(effects == [.reply(waiter, refused)])
        #expect(script.session.isIDTokenExpired(of: .primary, at: script.moment.now))
    }

    @Test func `an ID token that has ended when it comes is tried again with its access token`() {
        var script = endedAtOnce()
        let refresh = script.sleepUntilWake()
        #expect(refresh.sendsRequest)
        let granted = script.granted(
            lifetime: .seconds(3_600),
            secret: 502,
            idToken: SecretID(rawValue: 503),
            idTokenLifetime: .seconds(600)
        )
        _ = script.answer(refresh, granted)
        let (waiter, effects) = script.get(idToken: true)
        #expect(idToken(in: effects.reply(to: waiter)) == SecretID(rawValue: 503))
    }

    @Test func `a login without an ID token is refreshed once for one`() {
        var script = SessionScript.ready(lifetime: .seconds(3_600))
        script.advance(by: .seconds(10))
        let (first, refresh) = script.get(idToken: true)
        #expect(refresh.sendsRequest)
        let effects = script.answer(refresh, script.granted(lifetime: .seconds(3_600)))
        #expect(effects.reply(to: first) == .failure(.noIDToken))
        script.advance(by: .seconds(1_000))
        let (second, refused) = script.get(idToken: true)
        #expect(refused == [.reply(second, .failure(.noIDToken))])
    }

    /// A reader whose ID token has ended, and whose access token has not.
    private static func readerAtItsEnd() -> SessionScript {
        var script = SessionScript.ready(
            lifetime: .seconds(3_600),
            policy: SessionPolicy(isShared: true, isReader: true),
            renewal: .byKeepers,
            idToken: SessionScript.idToken,
            idTokenLifetime: .seconds(600)
        )
        script.advance(by: .seconds(600))
        return script
    }

    @Test func `who waits at a reader for an ID token gets that of the keepers' next record`() throws {
        var script = Self.readerAtItsEnd()
        let (waiter, asking) = script.get(idToken: true)
        #expect(asking.sendsRequest)
        var record = script.record(renewal: .byKeepers)
        let life = ValidityPeriod(obtainedAt: script.moment.now, expiresAt: script.moment.now + .seconds(600))
        record.tokens[.primary]?.idToken = IDToken(secret: Self.fresh, life: life)
        let effects = script.session.recordAdopted(record, jitter: 0, at: script.moment)
        #expect(idToken(in: effects.reply(to: waiter)) == Self.fresh)
    }

    @Test func `who waits at a reader is sent to a keeper where the keepers get no other ID token`() throws {
        var script = Self.readerAtItsEnd()
        let idToken = script.session.primaryToken?.idToken
        let (waiter, _) = script.get(idToken: true)
        var record = script.record(renewal: .byKeepers)
        record.tokens[.primary]?.idToken = idToken
        let effects = script.session.recordAdopted(record, jitter: 0, at: script.moment)
        let remedy = "after tokenctl login work at a host with role = \"keeper\""
        #expect(effects.reply(to: waiter) == .failure(.idTokenNotRenewed(remedy: .retry(remedy))))
    }
}
