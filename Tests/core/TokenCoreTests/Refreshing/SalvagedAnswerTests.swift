// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

/// Refresh tokens that were read from a damaged answer, which may have been misread.
struct SalvagedAnswerTests {
    private static let old = SessionScript.refreshToken
    private static let new = SecretID(rawValue: 900)
    private static let newer = SecretID(rawValue: 901)

    private func granted(
        _ script: SessionScript,
        _ refreshToken: SecretID?,
        isSalvaged: Bool,
        secret: UInt64 = 500
    ) -> RefreshOutcome {
        guard case .granted(var tokens) = script.granted(refreshToken: refreshToken, secret: secret) else {
            return script.granted()
        }
        if isSalvaged { tokens.remarks = [GrantWarning(.responseSalvaged, "the response is a form")] }
        return .granted(tokens)
    }

    /// A session whose refresh token came from a damaged answer, and what that answer had it do.
    private func salvaged(_ policy: SessionPolicy = SessionPolicy()) -> (SessionScript, [Effect]) {
        var script = SessionScript.ready(policy: policy)
        script.advance(by: .seconds(500))
        let effects = script.answer(script.tick(), granted(script, Self.new, isSalvaged: true))
        return (script, effects)
    }

    @Test(.holds("103")) func `the old refresh token is kept until the new one has worked`() throws {
        var (script, effects) = salvaged()
        #expect(!effects.contains(.erase(Self.old)))
        let snapshot = try #require(script.session.snapshot(at: script.moment))
        #expect(snapshot.renewal == .refreshToken(Self.new))
        #expect(snapshot.formerRefreshToken == Self.old)
        #expect(snapshot.secrets.contains(Self.old))
        script.advance(by: .seconds(500))
        let next = script.answer(
            script.tick(),
            granted(script, Self.newer, isSalvaged: false, secret: 501)
        )
        #expect(next.contains(.erase(Self.old)))
        #expect(script.session.snapshot(at: script.moment)?.formerRefreshToken == nil)
    }

    @Test func `an answer that is as it should be keeps no old refresh token`() {
        var script = SessionScript.ready()
        script.advance(by: .seconds(500))
        let effects = script.answer(script.tick(), granted(script, Self.new, isSalvaged: false))
        #expect(effects.contains(.erase(Self.old)))
    }

    @Test(.holds("103"), arguments: [false, true])
    func `where the server rejects the new one for good, the old one is tried`(restarts: Bool) throws {
        var (script, _) = salvaged()
        if restarts { script = script.restarted() }
        script.advance(by: .seconds(500))
        let ending = script.fail(script.tick(), .grantDead)
        #expect(ending.notified.contains(.loginRequired))
        // Once more, because a replica may lag.
        let confirmation = script.sleepUntilWake()
        let second = script.reserve(confirmation)
        #expect(second?.renewal == .refreshToken(Self.new))
        let failure = RefreshFailure(kind: .grantDead, message: "no luck")
        let refused = script.session.refreshFinished(
            try #require(second).attempt,
            .failed(failure),
            jitter: 0,
            at: script.moment
        )
        #expect(refused.contains(.erase(Self.new)))
        let trial = script.sleepUntilWake()
        let effects = script.answer(trial, granted(script, Self.newer, isSalvaged: false, secret: 502))
        #expect(effects.notified == [.refreshed])
        #expect(script.session.status.state == .ready)
    }

    @Test func `a code that ends the session leaves the old one to be tried`() throws {
        var (script, _) = salvaged()
        script.advance(by: .seconds(500))
        _ = script.fail(script.tick(), .sessionOver)
        let trial = script.reserve(script.sleepUntilWake())
        #expect(trial?.renewal == .refreshToken(Self.old))
    }

    @Test func `both rejected, the login is over`() throws {
        var (script, _) = salvaged()
        script.advance(by: .seconds(500))
        _ = script.fail(script.tick(), .grantDead)
        for _ in 0..<2 { _ = script.fail(script.sleepUntilWake(), .grantDead) }
        #expect(script.session.status.state == .loggedOut)
        #expect(script.sleepUntilWake().sendsRequest == false)
    }

    @Test func `the damage is part of what is told of the refresh`() throws {
        var script = SessionScript.ready()
        script.advance(by: .seconds(500))
        let effects = script.answer(script.tick(), granted(script, Self.new, isSalvaged: true))
        let events = effects.compactMap { effect -> SessionEvent? in
            guard case .notify(let event) = effect else { return nil }
            return event
        }
        #expect(events.map(\.notes) == [[.responseSalvaged]])
        #expect(events.first?.message == "the response is a form")
        #expect(script.session.status.remarks.map(\.kind) == [.responseSalvaged])
    }
}
