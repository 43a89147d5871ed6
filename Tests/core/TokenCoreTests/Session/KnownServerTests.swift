// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

/// A login's discovered server, which later responses do not change.
@Suite struct KnownServerTests {
    private static let server = DiscoveredServer(
        issuer: "https://as.example",
        resource: "https://api.example/v1",
        isPublic: true,
        client: "c-1"
    )
    private let login = LoginNumber(rawValue: 2)

    /// Returns a session whose login has discovered its server.
    private func found() -> SessionScript {
        var script = SessionScript()
        _ = script.session.loginStarted(login, at: script.moment)
        let granted = LoginOutcome.granted(grant(script))
        script.commitAll(script.session.loginFinished(login, granted, jitter: 0, at: script.moment))
        return script
    }

    private func grant(_ script: SessionScript) -> LoginGrant {
        var grant = script.loginGrant()
        grant.server = Self.server
        return grant
    }

    /// Returns the servers at which tokens are to be revoked.
    private func revocations(_ effects: [Effect]) -> [DiscoveredServer?] {
        effects.compactMap { effect -> DiscoveredServer?? in
            switch effect {
            case .revoke(let request), .discard(let request): .some(request.server)
            default: nil
            }
        }
    }

    @Test(.holds("193")) func `refreshes go there, also after a restart`() {
        var script = found()
        #expect(script.reserve(script.sleepUntilWake())?.server == Self.server)
        script = found().restarted()
        #expect(script.reserve(script.sleepUntilWake())?.server == Self.server)
        #expect(script.session.currentLogin?.server == Self.server)
    }

    @Test func `a logout goes there`() {
        var script = found()
        let effects = script.session.logoutRequested(local: false, at: script.moment)
        #expect(revocations(effects) == [Self.server])
    }

    @Test func `tokens that come too late are revoked there`() {
        var script = SessionScript(policy: SessionPolicy(revokes: .token))
        _ = script.session.loginStarted(login, at: script.moment)
        _ = script.session.loginStarted(LoginNumber(rawValue: 3), at: script.moment)
        let late = LoginOutcome.granted(grant(script))
        let effects = script.session.loginFinished(login, late, jitter: 0, at: script.moment)
        #expect(revocations(effects) == [Self.server])
    }

    @Test func `a login that has ended is still known to the next one`() {
        var script = found()
        _ = script.fail(script.sleepUntilWake(), .grantDead)
        #expect(script.session.currentLogin?.server == Self.server)
        #expect(SessionScript().session.currentLogin == nil)
    }

    @Test func `without a login the tokens say where they are from`() {
        var policy = SessionPolicy()
        policy.startsByItself = true
        policy.tokensOutliveLogin = false
        var script = SessionScript(policy: policy)
        let origin = IssuanceContext(tokenEndpoint: "https://as.example/token", server: Self.server)
        _ = script.answer(script.sleepUntilWake(), script.granted(origin: origin))
        #expect(script.session.currentLogin?.server == Self.server)
        #expect(script.reserve(script.sleepUntilWake())?.server == Self.server)
        let failure = RefreshFailure(kind: .sourceEnded, message: "no login")
        #expect(revocations(script.session.sourceEnded(failure, at: script.moment)) == [Self.server])
    }
}
