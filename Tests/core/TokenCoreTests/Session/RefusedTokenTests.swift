// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

/// Tokens that a resource server has rejected.
@Suite struct RefusedTokenTests {
    private static let print = TokenFingerprint(Array(repeating: 7, count: TokenFingerprint.byteCount))

    @Test(.holds("141"))
    func `a refused token is not served while the next one is on its way, nor when none comes`() {
        var script = SessionScript.ready()
        let (teller, refresh) = script.refuse(SessionScript.accessToken)
        #expect(refresh.sendsRequest)
        let (early, joined) = script.get()
        #expect(joined.reply(to: early) == nil)
        let failed = script.fail(refresh, .busy)
        #expect(failed.reply(to: teller)?.isTemporary == true)
        #expect(failed.reply(to: early)?.isTemporary == true)
        let (late, refused) = script.get()
        #expect(refused.reply(to: late)?.isTemporary == true)
        var retry: [Effect] = []
        while !retry.sendsRequest { retry = script.sleepUntilWake() }
        _ = script.answer(retry, script.granted())
        let (after, served) = script.get()
        #expect(served.reply(to: after)?.secret == SecretID(rawValue: 500))
    }

    @Test(.holds("141")) func `a refused token is not served after a restart`() {
        var script = SessionScript.ready()
        let (_, refresh) = script.refuse(SessionScript.accessToken)
        _ = script.fail(refresh, .unreachable)
        // The record without the token is written when no reservation is left.
        #expect(script.tick().contains { if case .commit = $0 { true } else { false } })
        script = script.restarted()
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == nil)
        #expect(effects.sendsRequest)
    }

    @Test(.holds("141")) func `a refused token is not served although the login ends`() {
        var script = SessionScript.ready()
        let (_, refresh) = script.refuse(SessionScript.accessToken)
        _ = script.fail(refresh, .interactionRequired)
        for _ in 0..<2 {
            let (waiter, effects) = script.get()
            #expect(effects.reply(to: waiter)?.isLoginRequired == true)
            script = script.restarted()
        }
    }

    @Test func `a token that outlived its login is gone when a server refuses it`() {
        var script = SessionScript.ready()
        let due = script.sleepUntilWake()
        _ = script.fail(due, .interactionRequired)
        let (waiter, effects) = script.refuse(SessionScript.accessToken)
        #expect(effects.reply(to: waiter)?.isLoginRequired == true)
        let (late, refused) = script.get()
        #expect(refused.reply(to: late)?.isLoginRequired == true)
    }

    @Test(.holds("141"))
    func `a token that is refused while another one is being stored is not served afterwards`() throws {
        var script = SessionScript.ready()
        let (_, begin) = script.get(TokenVariant(scopes: ["mail"], audience: nil))
        let sent = script.reserve(begin)
        let request = try #require(sent)
        let storing = script.session.refreshFinished(
            request.attempt,
            script.granted(),
            jitter: 0,
            at: script.moment
        )
        let (_, told) = script.refuse(SessionScript.accessToken)
        #expect(!told.sendsRequest)
        let stored = script.commitAll(storing)
        #expect(stored.servedSecrets == [SecretID(rawValue: 500)])
        // The rejected token is refreshed next, for the peer that reported it.
        #expect(stored.sendsRequest)
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter) == nil)
    }

    @Test(.holds("141")) func `a server that gives out the refused token again is not asked in a loop`()
        throws
    {
        var script = SessionScript.ready()
        let begin = script.moment.now
        let (teller, refresh) = script.refuse(SessionScript.accessToken, Self.print)
        let same = script.granted(refreshToken: SecretID(rawValue: 501), fingerprint: Self.print)
        let answer = script.answer(refresh, same)
        guard case .failure(.tokenRefused(let message, let retryAfter)) = answer.reply(to: teller) else {
            Issue.record("\(answer)")
            return
        }
        #expect(message == "the authorization server issued the rejected token again")
        #expect(retryAfter == .seconds(10))
        #expect(answer.notified == [.refreshFailed])
        // The refresh token in the same response is the current one.
        #expect(script.session.heldSecrets.contains(SecretID(rawValue: 501)))
        #expect(script.session.status.message == message)
        var requests = 0
        while script.moment.now - begin < .seconds(3600), script.session.status.state != .loggedOut {
            let (waiter, asked) = script.get(wait: .zero)
            #expect(asked.reply(to: waiter)?.secret == nil)
            let next = script.sleepUntilWake()
            guard next.sendsRequest else { continue }
            requests += 1
            _ = script.answer(next, script.granted(lifetime: .seconds(3600), fingerprint: Self.print))
        }
        #expect(requests < 12)
        let again = script.sleepUntilWake()
        _ = script.answer(again, script.granted(secret: 900))
        let (waiter, served) = script.get()
        #expect(served.reply(to: waiter)?.secret == SecretID(rawValue: 900))
    }

    @Test func `the refused token is known again after a restart`() {
        var script = SessionScript.ready()
        let (_, refresh) = script.refuse(SessionScript.accessToken, Self.print)
        _ = script.answer(refresh, script.granted(lifetime: .seconds(60)))
        script = script.restarted()
        let due = script.sleepUntilWake()
        _ = script.answer(due, script.granted(secret: 501, fingerprint: Self.print))
        let (waiter, effects) = script.get(wait: .zero)
        #expect(effects.reply(to: waiter)?.isHeldBack == true)
    }

    @Test func `a token refused as soon as it came is replaced after a pause, and nobody gets it meanwhile`()
    {
        var script = SessionScript.ready()
        let (_, refresh) = script.refuse(SessionScript.accessToken)
        _ = script.answer(refresh, script.granted())
        script.advance(by: .seconds(3))
        let (second, told) = script.refuse(SecretID(rawValue: 500))
        guard case .failure(.tokenRefused(_, let retryAfter)) = told.reply(to: second) else {
            Issue.record("\(told)")
            return
        }
        #expect(retryAfter == .seconds(7))
        let (hasty, refused) = script.get(wait: .seconds(1))
        #expect(refused.reply(to: hasty)?.isHeldBack == true)
        let (patient, waiting) = script.get(wait: .seconds(30))
        #expect(waiting.isEmpty)
        script.commitAll(script.tick())
        let next = script.sleepUntilWake()
        #expect(next.sendsRequest)
        #expect(script.answer(next, script.granted(secret: 501)).reply(to: patient)?.secret?.rawValue == 501)
    }

    @Test func `a person may refresh at once although a token was refused again`() {
        var script = SessionScript.ready()
        let (_, refresh) = script.refuse(SessionScript.accessToken)
        _ = script.answer(refresh, script.granted())
        _ = script.refuse(SecretID(rawValue: 500))
        let effects = script.session.refreshRequested(
            by: WaiterID(rawValue: 1),
            rejecting: nil,
            deadline: script.moment.now + .seconds(30),
            at: script.moment
        )
        #expect(effects.sendsRequest)
    }

    @Test func `refusals during an outage are no requests`() {
        var script = SessionScript.ready()
        let (_, refresh) = script.refuse(SessionScript.accessToken)
        _ = script.fail(refresh, .busy)
        for _ in 0..<100 {
            let (waiter, effects) = script.refuse(SessionScript.accessToken)
            #expect(!effects.sendsRequest)
            #expect(effects.reply(to: waiter)?.isTemporary == true)
        }
    }

    @Test func `without a refresh token a forced refresh says at once that there is none`() {
        var script = SessionScript.ready(renewal: .impossible)
        let waiter = WaiterID(rawValue: 1)
        let effects = script.session.refreshRequested(
            by: waiter,
            rejecting: nil,
            deadline: script.moment.now + .seconds(30),
            at: script.moment
        )
        #expect(
            effects.reply(to: waiter)
                == .failure(
                    .notRefreshable(
                        message: "cannot refresh: the issuer returned no refresh token",
                        remedy: nil
                    )
                )
        )
        // No server has rejected the token.
        let (reader, served) = script.get()
        #expect(served.reply(to: reader)?.secret == SessionScript.accessToken)
    }

    @Test func `without a refresh token a refused token ends the session at once`() {
        var script = SessionScript.ready(renewal: .impossible)
        let (waiter, effects) = script.refuse(SessionScript.accessToken)
        #expect(effects.reply(to: waiter)?.isLoginRequired == true)
        #expect(effects.notified == [.loginRequired])
        #expect(effects.contains(.erase(SessionScript.accessToken)))
        #expect(script.session.status.reason == .noRefreshToken)
        let (late, refused) = script.get()
        #expect(refused.reply(to: late)?.isLoginRequired == true)
    }

    @Test func `a token without end is served until a server refuses it`() {
        var script = SessionScript.ready(lifetime: nil, renewal: .impossible)
        #expect(script.session.wakeTime == nil)
        script.advance(by: .seconds(5 * 365 * 86_400))
        let (waiter, served) = script.get(minimum: .seconds(3600))
        #expect(served.reply(to: waiter)?.secret == SessionScript.accessToken)
        script = script.restarted()
        _ = script.refuse(SessionScript.accessToken)
        #expect(script.session.status.reason == .noRefreshToken)
    }

    @Test func `a token that names no life is renewed after an hour where that is possible`() {
        var script = SessionScript.ready(lifetime: nil)
        let begin = script.moment.now
        #expect(script.sleepUntilWake().sendsRequest)
        #expect(script.moment.now - begin == .seconds(3300))
    }

    @Test(arguments: [true, false])
    func `where tokens end with the login they are not served to their end`(outlive: Bool) {
        var script = SessionScript.ready(
            policy: SessionPolicy(tokensOutliveLogin: outlive),
            idToken: SessionScript.idToken
        )
        let due = script.sleepUntilWake()
        let ended = script.fail(due, .interactionRequired)
        #expect(ended.contains(.erase(SessionScript.accessToken)) != outlive)
        #expect(ended.contains(.erase(SessionScript.idToken)) != outlive)
        #expect(!ended.contains(.erase(SessionScript.refreshToken)))
        for _ in 0..<2 {
            let (waiter, effects) = script.get(wait: .zero)
            #expect((effects.reply(to: waiter)?.secret == SessionScript.accessToken) == outlive)
            script = script.restarted()
        }
    }

    @Test func `a last try after the end has what it needs, and brings the session back`() {
        var script = SessionScript.ready(policy: SessionPolicy(tokensOutliveLogin: false))
        let due = script.sleepUntilWake()
        _ = script.fail(due, .grantDead)
        let (waiter, refused) = script.get()
        #expect(refused.reply(to: waiter)?.isLoginRequired == true)
        let probe = script.sleepUntilWake()
        guard let request = script.reserve(probe) else {
            Issue.record("nothing was sent")
            return
        }
        #expect(request.accessToken == SessionScript.accessToken)
        let last = script.session.refreshFinished(
            request.attempt,
            .failed(RefreshFailure(kind: .grantDead, message: "x")),
            jitter: 0,
            at: script.moment
        )
        #expect(last.contains(.erase(SessionScript.accessToken)))
    }

    @Test func `the status of an ended session shows no expiry to come`() {
        var script = SessionScript.ready(refreshLifetime: .seconds(30 * 86_400))
        #expect(script.session.status.refreshExpiresAt != nil)
        let due = script.sleepUntilWake()
        _ = script.fail(due, .interactionRequired)
        let status = script.session.status
        #expect(status.tokenExpiresAt == nil)
        #expect(status.refreshExpiresAt == nil)
        #expect(status.loginEndsAt == nil)
        #expect(status.nextRefreshAt == nil)
    }

    @Test func `a refresh token ended by a code of the protocol is not kept`() {
        var script = SessionScript.ready()
        let due = script.sleepUntilWake()
        let effects = script.fail(due, .sessionOver)
        #expect(effects.contains(.erase(SessionScript.refreshToken)))
        #expect(script.session.snapshot(at: script.moment)?.secrets == [])
        #expect(script.restarted().session.status.reason == .grantDead)
    }
}
