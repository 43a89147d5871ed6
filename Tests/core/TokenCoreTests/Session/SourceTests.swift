// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// Sessions that others are made from, and those that wait for them.
@Suite struct SourceTests {
    private static let policy = SessionPolicy(tokensOutliveLogin: false, startsByItself: true)
    private static let absent = RefreshFailure(
        kind: .sourceUnavailable,
        message: "the session work: no answer",
        minimumDelay: .seconds(200)
    )

    @Test func `a token that outlived its login is served, and nothing is made of it`() {
        var script = SessionScript.ready()
        script.advance(by: .seconds(400))
        let effects = script.fail(script.sleepUntilWake(), .interactionRequired)
        #expect(effects.notified == [.loginRequired])
        let (program, served) = script.get()
        #expect(served.reply(to: program)?.secret == SessionScript.accessToken)
        let (exchange, refused) = script.get(wantsLiveLogin: true)
        #expect(refused.reply(to: exchange)?.isLoginRequired == true)
        let need = TokenRequirements(deadline: script.moment.now, wantsLiveLogin: true)
        #expect(script.session.token(for: need, at: script.moment.now) == nil)
        #expect(script.session.loginBegan == nil)
    }

    @Test func `a token in its last seconds will do where nothing better can be had`() {
        var script = SessionScript.ready(lifetime: .seconds(600))
        let began = script.session.loginBegan
        script.advance(by: .seconds(598))
        let need = TokenRequirements(deadline: script.moment.now, wantsLiveLogin: true)
        #expect(!script.session.meets(need, at: script.moment.now))
        #expect(script.session.token(for: need, at: script.moment.now)?.secret == SessionScript.accessToken)
        script.advance(by: .seconds(2))
        #expect(script.session.token(for: need, at: script.moment.now) == nil)
        #expect(script.session.loginBegan == began)
    }

    @Test func `what waits for its source goes on as soon as that has a token`() {
        var script = SessionScript(policy: Self.policy)
        let failed = script.answer(script.sleepUntilWake(), .failed(Self.absent))
        #expect(failed.notified == [.refreshFailed])
        #expect(script.session.wakeTime.map { $0 - script.moment.now >= .seconds(200) } == true)
        script.advance(by: .seconds(3))
        let begin = script.session.sourceRecovered(at: script.moment)
        #expect(script.answer(begin, script.granted()).notified == [.refreshed])
        #expect(script.session.sourceRecovered(at: script.moment).isEmpty)
    }

    @Test func `a source without a token at this moment ends nothing and needs nobody`() {
        var script = SessionScript(policy: Self.policy)
        _ = script.answer(script.sleepUntilWake(), script.granted())
        _ = script.answer(script.sleepUntilWake(), .failed(Self.absent))
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == SecretID(rawValue: 500))
        script.advance(by: .seconds(600))
        let (late, begin) = script.get()
        #expect(script.answer(begin, .failed(Self.absent)).reply(to: late)?.isTemporary == true)
    }

    @Test func `what ended with its source starts again when that has a token of the same login`() {
        var script = SessionScript(policy: Self.policy)
        let lost = RefreshFailure(
            kind: .sourceEnded,
            message: "no login",
            remedy: .run("tokenctl login work")
        )
        _ = script.answer(script.sleepUntilWake(), .failed(lost))
        #expect(script.session.status.reason == .sourceEnded)
        let begin = script.session.sourceRecovered(at: script.moment)
        #expect(script.answer(begin, script.granted()).notified == [.refreshed])
    }

    @Test(arguments: [FailureClass.busy, .grantDead, .misconfigured])
    func `a failure of its own server is not mended by its source`(kind: FailureClass) {
        var script = SessionScript(policy: Self.policy)
        _ = script.fail(script.sleepUntilWake(), kind)
        #expect(script.session.sourceRecovered(at: script.moment).isEmpty)
    }

    @Test func `a person's logout is not undone by its source`() {
        var script = SessionScript(policy: Self.policy)
        _ = script.answer(script.sleepUntilWake(), script.granted())
        script.commitAll(script.session.logoutRequested(local: true, at: script.moment))
        #expect(script.session.sourceRecovered(at: script.moment).isEmpty)
        #expect(script.session.sourceReturned(at: script.moment).isEmpty)
    }

    @Test func `what was made from a login began no earlier than that`() throws {
        var source = SessionScript.ready()
        var made = SessionScript(policy: Self.policy)
        _ = made.answer(made.sleepUntilWake(), made.granted())
        let began = try #require(made.restarted().session.loginBegan)
        #expect(try #require(source.restarted().session.loginBegan) <= began)
        source.advance(by: .seconds(60))
        let number = LoginNumber(rawValue: 2)
        _ = source.session.loginStarted(number, at: source.moment)
        let granted = LoginOutcome.granted(source.loginGrant())
        source.commitAll(
            source.session.loginFinished(number, granted, jitter: 0, at: source.moment)
        )
        #expect(try #require(source.restarted().session.loginBegan) > began)
    }

    @Test func `what waited for its source began after that, whichever started first`() throws {
        var made = SessionScript(policy: Self.policy)
        let begin = made.sleepUntilWake()
        let started = made.moment
        made.advance(by: .seconds(5))
        _ = made.answer(begin, made.granted())
        #expect(started.now < made.moment.now)
        #expect(made.restarted().session.loginBegan == made.moment.now)
        #expect(made.session.status.loggedInAt == made.moment.now)
        _ = made.answer(made.sleepUntilWake(), made.granted())
        #expect(try #require(made.session.loginBegan) < made.moment.now)
    }
}
