// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

@Suite struct ServingTests {
    @Test func `a token with enough validity is served at once`() {
        var script = SessionScript.ready()
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == SessionScript.accessToken)
        #expect(!effects.sendsRequest)
    }

    @Test func `a token with enough validity is served while a refresh is running`() {
        var script = SessionScript.ready()
        let refresh = script.sleepUntilWake()
        #expect(refresh.sendsRequest)
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == SessionScript.accessToken)
        #expect(!effects.sendsRequest)
    }

    @Test func `a standing token ends when its refresh is due, and with every change of the session`() throws
    {
        var script = SessionScript.ready()
        let standing = try #require(script.session.cachedToken(at: script.moment.now))
        #expect(standing.token.secret == SessionScript.accessToken)
        #expect(standing.until == script.session.wakeTime)
        let revision = script.session.revision
        let refresh = script.sleepUntilWake()
        #expect(script.session.revision != revision)
        // While the refresh is in flight, the token is cached until it is too old to be served.
        let late = try #require(script.session.cachedToken(at: script.moment.now))
        #expect(late.token == standing.token && late.until > standing.until)
        _ = script.answer(refresh, script.granted())
        let fresh = try #require(script.session.cachedToken(at: script.moment.now))
        #expect(fresh.token.secret == SecretID(rawValue: 500))
        _ = script.refuse(SecretID(rawValue: 500))
        #expect(script.session.cachedToken(at: script.moment.now) == nil)
    }

    @Test func `a standing token follows the policy`() throws {
        var script = SessionScript.ready()
        _ = script.sleepUntilWake()
        let (standing, revision) = (
            script.session.cachedToken(at: script.moment.now), script.session.revision
        )
        script.session.policyChanged(SessionPolicy(minimumValidity: .seconds(1)))
        #expect(script.session.revision != revision)
        let longer = try #require(script.session.cachedToken(at: script.moment.now))
        #expect(longer.until > standing?.until ?? longer.until)
    }

    @Test(.holds("115")) func `requests that need more join one refresh and get the same token`() {
        var script = SessionScript.ready()
        script.advance(by: .seconds(595))
        let (first, refresh) = script.get()
        let others = (0..<999).map { _ in script.get() }
        #expect(refresh.reply(to: first) == nil)
        #expect(others.allSatisfy { !$0.1.sendsRequest && $0.1.isEmpty })
        let answer = script.answer(refresh, script.granted())
        #expect(answer.servedSecrets == Array(repeating: SecretID(rawValue: 500), count: 1000))
    }

    @Test func `nobody sees a token before it is durable`() throws {
        var script = SessionScript.ready()
        script.advance(by: .seconds(595))
        let (waiter, refresh) = script.get()
        let sent = script.reserve(refresh)
        let request = try #require(sent)
        let committing = script.session.refreshFinished(
            request.attempt,
            script.granted(),
            jitter: 0,
            at: script.moment
        )
        #expect(committing.servedSecrets.isEmpty)
        let (second, early) = script.get()
        #expect(early.reply(to: second) == nil)
        let published = script.commitAll(committing)
        #expect(published.reply(to: waiter)?.secret == SecretID(rawValue: 500))
        #expect(published.reply(to: second)?.secret == SecretID(rawValue: 500))
    }

    @Test func `a waiter that leaves cancels nothing`() {
        var script = SessionScript.ready()
        script.advance(by: .seconds(595))
        let (first, refresh) = script.get()
        let (second, _) = script.get()
        #expect(script.session.requestWithdrawn(by: first).isEmpty)
        let answer = script.answer(refresh, script.granted())
        #expect(answer.reply(to: first) == nil)
        #expect(answer.reply(to: second)?.secret == SecretID(rawValue: 500))
    }

    @Test(.holds("115")) func `each scope and audience is one request, one after the other`() {
        var script = SessionScript.ready()
        let api = TokenVariant(scopes: ["api"], audience: nil)
        let mail = TokenVariant(scopes: ["mail", "mail"], audience: "https://mail.example")
        let (first, firstRefresh) = script.get(api)
        let (second, secondRefresh) = script.get(mail)
        #expect(firstRefresh.sendsRequest)
        #expect(secondRefresh.isEmpty)
        let afterFirst = script.answer(firstRefresh, script.granted(secret: 600))
        #expect(afterFirst.reply(to: first)?.secret == SecretID(rawValue: 600))
        #expect(afterFirst.sendsRequest)
        let afterSecond = script.answer(afterFirst, script.granted(secret: 601))
        #expect(afterSecond.reply(to: second)?.secret == SecretID(rawValue: 601))
        let (again, cached) = script.get(api)
        #expect(cached.reply(to: again)?.secret == SecretID(rawValue: 600))
    }

    @Test(.holds("O21")) func `a token of a scope has that scope where the answer does not say`() {
        var script = SessionScript.ready()
        let (waiter, refresh) = script.get(TokenVariant(scopes: ["api"], audience: nil))
        guard case .token(let token) = script.answer(refresh, script.granted()).reply(to: waiter) else {
            Issue.record("no token")
            return
        }
        #expect(token.scope == ["api"])
    }

    @Test func `a request that does not wait starts the refresh and is told to come back`() {
        var script = SessionScript.ready()
        script.advance(by: .seconds(599.5))
        let (waiter, effects) = script.get(wait: .zero)
        #expect(effects.sendsRequest)
        #expect(effects.reply(to: waiter)?.isTemporary == true)
    }

    @Test func `a request is answered when its own time is up`() {
        var script = SessionScript.ready()
        script.advance(by: .seconds(600))
        let (waiter, refresh) = script.get(wait: .seconds(5))
        #expect(refresh.sendsRequest)
        #expect(script.session.wakeTime == script.moment.now + .seconds(5))
        #expect(script.sleepUntilWake().reply(to: waiter)?.isTemporary == true)
    }

    @Test func `after a temporary failure a token with a second left is served unless more was asked for`() {
        var script = SessionScript.ready()
        script.advance(by: .seconds(590))
        let (modest, refresh) = script.get()
        let (demanding, _) = script.get(minimum: .seconds(60))
        let effects = script.fail(refresh, .busy)
        #expect(effects.reply(to: modest)?.secret == SessionScript.accessToken)
        #expect(effects.reply(to: demanding)?.isTemporary == true)
    }

    @Test func `when the network is away callers wait for the next try instead of failing`() {
        var script = SessionScript.ready()
        script.advance(by: .seconds(600))
        let (waiter, refresh) = script.get()
        #expect(script.fail(refresh, .unreachable).reply(to: waiter) == nil)
        let retry = script.sleepUntilWake()
        #expect(script.answer(retry, script.granted()).reply(to: waiter)?.secret == SecretID(rawValue: 500))
    }

    @Test
    func `more validity than the issuer gives is refused after one refresh, not asked for again and again`() {
        var script = SessionScript.ready()
        script.advance(by: .seconds(60))
        let (first, refresh) = script.get(minimum: .seconds(7200))
        let answer = script.answer(refresh, script.granted())
        #expect(answer.reply(to: first) == .failure(.validityUnattainable(lifetime: .seconds(600))))
        let (second, effects) = script.get(minimum: .seconds(7200))
        #expect(effects.reply(to: second) == .failure(.validityUnattainable(lifetime: .seconds(600))))
        #expect(!effects.sendsRequest)
    }

    @Test(.holds("112")) func `no token is ever served with less life than asked for`() {
        var script = SessionScript.ready(lifetime: .seconds(120))
        for step in 0..<120 {
            for minimum in [0, 1, 10, 59, 60, 61, 119] {
                let (waiter, effects) = script.get(minimum: .seconds(minimum), wait: .zero)
                guard case .token(let token)? = effects.reply(to: waiter) else { continue }
                #expect(token.life.lasts(.seconds(minimum), from: script.moment.now), "after \(step) s")
            }
            script.advance(by: .seconds(1))
        }
    }

    @Test func `a session nobody logged in to says so at once, at any rate`() {
        var script = SessionScript()
        for _ in 0..<1000 {
            let (waiter, effects) = script.get()
            #expect(effects.count == 1)
            #expect(effects.reply(to: waiter)?.isLoginRequired == true)
        }
        #expect(script.session.wakeTime == nil)
    }

    @Test func `an ID token is served with its access token, and missed when there is none`() {
        var with = SessionScript.ready(idToken: SessionScript.idToken)
        let (first, served) = with.get(idToken: true)
        #expect(served.reply(to: first)?.secret == SessionScript.accessToken)
        var without = SessionScript.ready()
        let (second, missed) = without.get(idToken: true)
        #expect(missed.reply(to: second) == .failure(.noIDToken))
    }

    @Test func `a rejected token is refreshed once, and an older one is answered with the present one`() {
        var script = SessionScript.ready()
        let ask = WaiterID(rawValue: 1)
        let deadline = script.moment.now + .seconds(30)
        let stale = script.session.refreshRequested(
            by: ask,
            rejecting: SecretID(rawValue: 77),
            deadline: deadline,
            at: script.moment
        )
        #expect(stale.reply(to: ask)?.secret == SessionScript.accessToken)
        let refresh = script.session.refreshRequested(
            by: ask,
            rejecting: SessionScript.accessToken,
            deadline: deadline,
            at: script.moment
        )
        let joined = script.session.refreshRequested(
            by: WaiterID(rawValue: 2),
            rejecting: SessionScript.accessToken,
            deadline: deadline,
            at: script.moment
        )
        #expect(refresh.sendsRequest)
        #expect(joined.isEmpty)
        #expect(script.answer(refresh, script.granted()).servedSecrets.count == 2)
    }
}
