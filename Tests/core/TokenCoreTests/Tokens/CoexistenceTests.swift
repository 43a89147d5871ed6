// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

/// Tokens of several scopes at servers with one valid token per login, and at servers with many.
@Suite struct CoexistenceTests {
    private static let mail = TokenVariant(scopes: ["mail"], audience: nil)

    /// Answers with new tokens, the refresh token replaced.
    private func rotate(_ script: inout SessionScript, _ effects: [Effect], _ number: UInt64) -> [Effect] {
        let next = SecretID(rawValue: 10_000 + number)
        return script.answer(effects, script.granted(refreshToken: next, secret: number))
    }

    @Test(.holds("142"))
    func `two programs that take turns never get a token that the other one's has ended`() {
        var script = SessionScript.ready()
        for number in 600..<620 as Range<UInt64> {
            script.advance(by: .seconds(20))
            let (waiter, begin) = script.get(number.isMultiple(of: 2) ? Self.mail : .primary)
            #expect(begin.sendsRequest)
            // Only the newest token of this server is valid.
            #expect(rotate(&script, begin, number).reply(to: waiter)?.secret?.rawValue == number)
        }
    }

    @Test func `the login's own token is renewed before those of other scopes that wait`() {
        var script = SessionScript.ready()
        let (_, begin) = script.get(Self.mail)
        for scope in ["a", "b", "c"] { _ = script.get(TokenVariant(scopes: [scope], audience: nil)) }
        // The token is served at once while it is not doubtful.
        let (first, served) = script.get()
        #expect(served.reply(to: first)?.secret == SessionScript.accessToken)
        let next = rotate(&script, begin, 600)
        // Another refresh is in flight when the token is requested.
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter) == nil)
        let after = rotate(&script, next, 601)
        #expect(script.reserve(after)?.variant == .primary)
    }

    @Test func `a token in doubt is renewed when it is asked for, not by itself`() {
        var script = SessionScript.ready(lifetime: .seconds(3600))
        let (_, begin) = script.get(Self.mail)
        _ = rotate(&script, begin, 600)
        #expect((script.session.wakeTime ?? script.moment.now) - script.moment.now > .seconds(3000))
        #expect(!script.tick().sendsRequest)
    }

    @Test func `a token in doubt is served when no other can be had`() {
        var script = SessionScript.ready()
        let (_, begin) = script.get(Self.mail)
        _ = rotate(&script, begin, 600)
        let (waiter, refresh) = script.get()
        #expect(script.fail(refresh, .busy).reply(to: waiter)?.secret == SessionScript.accessToken)
    }

    @Test(.holds("89"))
    func `a token in doubt does not wait long for a request that gets no answer`() {
        var script = SessionScript.ready(lifetime: .seconds(3600))
        let (_, begin) = script.get(Self.mail)
        _ = rotate(&script, begin, 600)
        // The request for another scope gets no answer.
        let (_, silent) = script.get(TokenVariant(scopes: ["calendar"], audience: nil))
        #expect(silent.sendsRequest)
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter) == nil)
        let asked = script.moment.now
        #expect(script.sleepUntilWake().reply(to: waiter)?.secret == SessionScript.accessToken)
        #expect(script.moment.now - asked < .seconds(2))
        // Those that follow do not wait at all.
        let (next, served) = script.get()
        #expect(served.reply(to: next)?.secret == SessionScript.accessToken)
    }

    @Test func `a token that the server has probably ended waits until the deadline`() {
        var script = SessionScript.ready(lifetime: .seconds(3600))
        let (_, begin) = script.get(Self.mail)
        _ = rotate(&script, begin, 600)
        _ = script.get(reportsRefusals: true)
        let (_, refresh) = script.refuse(SessionScript.accessToken)
        _ = rotate(&script, refresh, 601)
        let (_, silent) = script.get(TokenVariant(scopes: ["calendar"], audience: nil))
        #expect(silent.sendsRequest)
        let (waiter, _) = script.get(Self.mail)
        script.advance(by: .seconds(20))
        #expect(script.tick().reply(to: waiter) == nil)
        script.advance(by: .seconds(10))
        #expect(script.tick().reply(to: waiter)?.secret?.rawValue == 600)
    }

    @Test func `a token rejected during the wait is not served, and the request waits on`() {
        var script = SessionScript.ready(lifetime: .seconds(3600))
        let (_, begin) = script.get(Self.mail)
        _ = rotate(&script, begin, 600)
        _ = script.get(TokenVariant(scopes: ["calendar"], audience: nil))
        let (waiter, _) = script.get()
        _ = script.refuse(SessionScript.accessToken)
        script.advance(by: .seconds(2))
        #expect(script.tick().reply(to: waiter) == nil)
        #expect(script.session.wakeTime.map { $0 > script.moment.now } == true)
    }

    @Test func `doubt survives a restart`() {
        var script = SessionScript.ready()
        let (_, begin) = script.get(Self.mail)
        _ = rotate(&script, begin, 600)
        script = script.restarted()
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter) == nil)
        #expect(effects.sendsRequest)
    }

    @Test func `a server that keeps its refresh token raises no doubt`() {
        var script = SessionScript.ready()
        let (_, begin) = script.get(Self.mail)
        _ = script.answer(begin, script.granted(secret: 600))
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == SessionScript.accessToken)
    }

    @Test
    func
        `tokens that stay unrefused where that would be told are served side by side from then on`()
    {
        var script = SessionScript.ready(lifetime: .seconds(3600))
        let (_, begin) = script.get(Self.mail)
        _ = rotate(&script, begin, 600)
        let (curl, trial) = script.get(reportsRefusals: true)
        #expect(trial.reply(to: curl)?.secret == SessionScript.accessToken)
        // A peer that would not report a rejection does not get the token on trial.
        let (quiet, asked) = script.get(wait: .zero)
        #expect(asked.sendsRequest)
        #expect(asked.reply(to: quiet) != nil)
        _ = rotate(&script, asked, 601)
        let (again, second) = script.get(Self.mail, reportsRefusals: true)
        #expect(second.reply(to: again)?.secret?.rawValue == 600)
        script.advance(by: .seconds(60))
        for number in 602..<606 as Range<UInt64> {
            let (first, served) = script.get(Self.mail)
            #expect(served.reply(to: first)?.secret?.rawValue == 600)
            let forced = script.session.refreshRequested(
                by: WaiterID(rawValue: number),
                rejecting: nil,
                deadline: script.moment.now + .seconds(30),
                at: script.moment
            )
            _ = rotate(&script, forced, number)
        }
    }

    @Test func `a refusal on trial is learned from for good`() {
        var script = SessionScript.ready()
        let (_, begin) = script.get(Self.mail)
        _ = rotate(&script, begin, 600)
        _ = script.get(reportsRefusals: true)
        let (teller, refresh) = script.refuse(SessionScript.accessToken)
        #expect(rotate(&script, refresh, 601).reply(to: teller)?.secret?.rawValue == 601)
        script = script.restarted()
        script.advance(by: .seconds(120))
        let (waiter, effects) = script.get(Self.mail, reportsRefusals: true)
        #expect(effects.reply(to: waiter) == nil)
        #expect(effects.sendsRequest)
    }
}
