// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

/// Answers whose access token cannot be accepted, such as one of type `Bearer` where it had to be bound to a key.
struct UnusableAnswerTests {
    private static let newToken = SecretID(rawValue: 900)
    private static let reason = "token_type is Bearer, not DPoP"

    private func unusable(_ script: SessionScript, _ kind: FailureClass = .misconfigured) -> RefreshOutcome {
        .unusable(
            RefreshFailure(kind: kind, message: UnusableAnswerTests.reason, remedy: .set("dpop to false")),
            RescuedRefreshToken(
                refreshToken: UnusableAnswerTests.newToken,
                refreshLifetime: RefreshLifetime(.seconds(90_000)),
                requestedAt: script.moment.now
            )
        )
    }

    /// A session whose refresh has just been answered in such a way.
    private func answered(_ kind: FailureClass = .misconfigured) -> (SessionScript, [Effect]) {
        var script = SessionScript.ready()
        script.advance(by: .seconds(500))
        let effects = script.answer(script.tick(), unusable(script, kind))
        return (script, effects)
    }

    @Test(.holds("O22")) func `the new refresh token is durable before anything else happens`() throws {
        var script = SessionScript.ready()
        script.advance(by: .seconds(500))
        let reserved = script.reserve(script.tick())
        let request = try #require(reserved)
        let effects = script.session.refreshFinished(
            request.attempt,
            unusable(script),
            jitter: 0,
            at: script.moment
        )
        guard case .commit(_, let snapshot) = effects.first, effects.count == 1 else {
            Issue.record("\(effects)")
            return
        }
        #expect(snapshot.renewal == .refreshToken(UnusableAnswerTests.newToken))
        #expect(!snapshot.refreshTokenSent)
        #expect(snapshot.tokens[.primary]?.secret == SessionScript.accessToken)
    }

    @Test func `the session waits for somebody to act, and its present token is served`() {
        var (script, effects) = answered()
        let status = script.session.status
        #expect(status.state == .suspended)
        #expect(status.message == UnusableAnswerTests.reason)
        #expect(status.remedy == .set("dpop to false, then run tokenctl refresh work"))
        #expect(effects.notified == [.refreshFailed])
        #expect(effects.contains(.erase(SessionScript.refreshToken)))
        let (waiter, served) = script.get()
        #expect(served.reply(to: waiter)?.secret == SessionScript.accessToken)
    }

    @Test func `the next refresh shows the new refresh token`() throws {
        var (script, _) = answered()
        script.advance(by: RetrySchedule.suspendedRetry)
        let reserved = script.reserve(script.sleepUntilWake())
        let request = try #require(reserved)
        #expect(request.renewal == .refreshToken(UnusableAnswerTests.newToken))
    }

    @Test func `an answer without any access token costs no refresh token either`() throws {
        var (script, _) = answered(.misbehaved)
        #expect(script.session.status.state == .retrying)
        let reserved = script.reserve(script.sleepUntilWake())
        let request = try #require(reserved)
        #expect(request.renewal == .refreshToken(UnusableAnswerTests.newToken))
        #expect(!script.session.isReplaying)
    }

    @Test func `where the new refresh token is refused the former one is tried`() throws {
        var (script, effects) = answered(.misbehaved)
        #expect(!effects.contains(.erase(SessionScript.refreshToken)))
        _ = script.fail(script.sleepUntilWake(), .sessionOver)
        #expect(script.session.status.state == .loggedOut)
        let reserved = script.reserve(script.sleepUntilWake())
        let request = try #require(reserved)
        #expect(request.renewal == .refreshToken(SessionScript.refreshToken))
        let granted = script.session.refreshFinished(
            request.attempt,
            script.granted(refreshToken: SecretID(rawValue: 901)),
            jitter: 0,
            at: script.moment
        )
        _ = script.commitAll(granted)
        #expect(script.session.status.state == .ready)
    }

    @Test(arguments: [FailureClass.unreachable, .busy, .ambiguous, .insecure])
    func `a passing failure of a later try does not hide why it is suspended`(kind: FailureClass) {
        var (script, _) = answered()
        let effects = script.session.refreshRequested(
            by: WaiterID(rawValue: 7),
            rejecting: nil,
            deadline: script.moment.now + .seconds(30),
            at: script.moment
        )
        let failed = script.fail(effects, kind)
        #expect(failed.reply(to: WaiterID(rawValue: 7))?.isTemporary == true)
        #expect(script.session.status.state == .suspended)
        #expect(script.session.status.message == UnusableAnswerTests.reason)
        #expect(script.session.wakeTime.map { $0 - script.moment.now >= .seconds(60) } == true)
    }

    @Test func `one that comes too late is revoked`() {
        var script = SessionScript.ready(policy: SessionPolicy(revokes: .token))
        let effects = script.session.refreshFinished(
            AttemptNumber(rawValue: 99),
            unusable(script),
            jitter: 0,
            at: script.moment
        )
        guard case .discard(let late) = effects.first else {
            Issue.record("\(effects)")
            return
        }
        #expect(late.refreshToken == UnusableAnswerTests.newToken)
        #expect(late.accessToken == nil)
    }
}
