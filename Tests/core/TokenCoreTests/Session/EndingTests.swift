// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

@Suite struct EndingTests {
    @Test func `a refresh token known to be expired is never sent`() {
        var script = SessionScript.ready(lifetime: .seconds(600), refreshLifetime: .seconds(100))
        script.advance(by: .seconds(100))
        let effects = script.tick()
        #expect(!effects.sendsRequest)
        #expect(script.session.status.reason == .refreshTokenExpired)
        let (waiter, served) = script.get()
        #expect(served.reply(to: waiter)?.secret == SessionScript.accessToken)
    }

    @Test func `the maximum age ends a session, and what is still good is served`() {
        var script = SessionScript.ready(policy: SessionPolicy(maximumSessionAge: .seconds(100)))
        #expect(script.sleepUntilWake().notified == [.expiring])
        script.commitAll(script.tick())
        #expect(script.sleepUntilWake().notified == [.loginRequired])
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == SessionScript.accessToken)
    }

    @Test func `the coming end is announced once`() {
        let policy = SessionPolicy(maximumSessionAge: .seconds(400), warnBefore: .seconds(100))
        var script = SessionScript.ready(lifetime: .seconds(3600), policy: policy)
        #expect(script.sleepUntilWake().notified == [.expiring])
        #expect(script.tick().notified.isEmpty)
        #expect(script.sleepUntilWake().notified == [.loginRequired])
    }

    @Test func `without a refresh token the session ends with its access token`() {
        var script = SessionScript.ready(renewal: .impossible)
        let (early, served) = script.get()
        #expect(served.reply(to: early)?.secret == SessionScript.accessToken)
        #expect(script.sleepUntilWake().notified == [.expiring])
        script.commitAll(script.tick())
        #expect(script.sleepUntilWake().notified == [.loginRequired])
        let (late, refused) = script.get()
        #expect(refused.reply(to: late)?.isLoginRequired == true)
    }

    @Test func `client credentials need no reservation`() {
        var script = SessionScript.ready(renewal: .withoutLogin)
        let effects = script.sleepUntilWake()
        #expect(effects.sendsRequest && !effects.isReserved(in: script))
    }

    @Test func `a dead session's refresh token is kept thirty days, then erased`() {
        var script = SessionScript.ready()
        let begin = script.sleepUntilWake()
        _ = script.fail(begin, .interactionRequired)
        let ended = script.moment.now
        let effects = script.sleepUntilWake()
        #expect(script.moment.now - ended == .seconds(30 * 86400))
        #expect(effects.contains(.erase(SessionScript.refreshToken)))
        #expect(effects.contains(.forget))
    }

    @Test func `changed settings end the session without a request`() {
        var script = SessionScript.ready()
        let effects = script.session.registrationChanged(at: script.moment)
        #expect(!effects.sendsRequest)
        #expect(script.session.status.reason == .configurationChanged)
    }

    @Test(arguments: [
        (["https://id.example"], ["https://id.example"], true), ([], ["https://id.example"], true),
        (["https://end.example"], ["https://end.example"], true), (["https://end.example"], [], true),
        ([], ["https://end.example"], false), ([], ["https://id.example.evil"], false),
        (["https://end.example"], ["https://end.example:8443"], false), ([], ["http://id.example"], false),
    ])
    func `tokens are shown to no server that came into the settings since the login`(
        then: [String],
        now: [String],
        isTold: Bool
    ) throws {
        func made(_ endings: [String]) -> String {
            LoginSettingsFingerprint(fingerprint: "id c", endings: endings).text
        }
        var script = SessionScript.ready(policy: SessionPolicy(madeOf: made(then)))
        script.session.policyChanged(SessionPolicy(madeOf: made(now)))
        var (session, request) = (script.session, RevocationRequest?.none)
        // At the logout, and when it is repeated after a restart.
        for case .revoke(let asked) in session.logoutRequested(local: false, at: script.moment) {
            request = asked
        }
        script.session = session
        let asked = try #require(request)
        let refusal = LoginSettingsFingerprint.refusal(of: asked, under: made(now))
        #expect((refusal == nil) == isTold)
        var restarted = script.restarted()
        let repeated = restarted.sleepUntilWake()
        #expect(repeated == [.revoke(asked)])
        guard let refusal else { return }
        let effects = session.revocationFinished(asked, .refused(refusal), jitter: 0, at: script.moment)
        #expect(effects.contains(.forget) && effects.contains(.erase(SessionScript.refreshToken)))
        #expect(session.status.reason == .loggedOut)
    }

    @Test(arguments: [
        ("sso a", "sso a", true), ("sso a", "sso b", false), ("", "sso b", true), ("sso a", "", true),
    ])
    func `tokens are shown to no server that the settings name instead of the login's`(
        then: String,
        now: String,
        isTold: Bool
    ) {
        func made(_ fingerprint: String) -> String {
            LoginSettingsFingerprint(fingerprint: fingerprint, endings: []).text
        }
        var request = RevocationRequest(refreshToken: SessionScript.refreshToken, accessToken: nil)
        request.settings = made(then)
        #expect((LoginSettingsFingerprint.refusal(of: request, under: made(now)) == nil) == isTold)
    }

    @Test func `logging out revokes first and forgets when the server has answered`() {
        var script = SessionScript.ready()
        let effects = script.session.logoutRequested(local: false, at: script.moment)
        let requests = effects.compactMap { effect -> RevocationRequest? in
            guard case .revoke(let request) = effect else { return nil }
            return request
        }
        #expect(requests.map(\.refreshToken) == [SessionScript.refreshToken])
        #expect(!effects.contains(.forget))
        let (waiter, refused) = script.get()
        #expect(refused.reply(to: waiter)?.isLoginRequired == true)
        let done = script.session.revocationFinished(.revoked, jitter: 0, at: script.moment)
        #expect(done.contains(.forget))
        #expect(done.last == .finishLogout(.revoked))
        #expect(done.contains(.erase(SessionScript.refreshToken)))
    }

    @Test(arguments: [
        (RevocationOutcome.revoked, LogoutReply.revoked),
        (.failed(RefreshFailure(kind: .busy, message: "503")), .refused(message: "503")),
    ])
    func `a login before the server has heard of a logout keeps nobody waiting`(
        outcome: RevocationOutcome,
        result: LogoutReply
    ) {
        var script = SessionScript.ready()
        _ = script.session.logoutRequested(local: false, at: script.moment)
        let number = LoginNumber(rawValue: 2)
        _ = script.session.loginStarted(number, at: script.moment)
        let grant = LoginOutcome.granted(script.loginGrant())
        let granted = script.session.loginFinished(number, grant, jitter: 0, at: script.moment)
        _ = script.commitAll(granted)
        let told = script.session.revocationFinished(outcome, jitter: 0, at: script.moment)
        #expect(told == [.finishLogout(result)])
        #expect(script.session.status.state == .ready)
    }

    @Test func `what became of one login's tokens is not taken for that of a later login's`() throws {
        func revoked(_ effects: [Effect]) -> RevocationRequest? {
            effects.lazy.compactMap { if case .revoke(let request) = $0 { request } else { nil } }.first
        }
        var script = SessionScript.ready()
        let first = try #require(revoked(script.session.logoutRequested(local: false, at: script.moment)))
        let number = LoginNumber(rawValue: 2)
        _ = script.session.loginStarted(number, at: script.moment)
        let grant = LoginOutcome.granted(script.loginGrant())
        script.commitAll(script.session.loginFinished(number, grant, jitter: 0, at: script.moment))
        let second = try #require(revoked(script.session.logoutRequested(local: false, at: script.moment)))
        #expect(first != second)
        #expect(script.session.revocationFinished(first, .revoked, jitter: 0, at: script.moment) == [])
        let told = script.session.revocationFinished(second, .revoked, jitter: 0, at: script.moment)
        #expect(told.last == .finishLogout(.revoked))
    }

    /// The outcome at the server, the result of the logout, and whether tokens may remain valid.
    @Test(arguments: [
        (RevocationOutcome.revoked, LogoutReply.revoked, false), (.nothing, .nothingToRevoke, false),
        (.unsupported("no endpoint"), .unsupported(message: "no endpoint"), true),
        (
            .refused(RefreshFailure(kind: .misconfigured, code: "invalid_client", message: "401")),
            .refused(message: "401"), true
        ),
    ])
    func `a final answer to a logout is final and told as it is`(
        outcome: RevocationOutcome,
        result: LogoutReply,
        hasLeftover: Bool
    ) {
        var script = SessionScript.ready()
        _ = script.session.logoutRequested(local: false, at: script.moment)
        let effects = script.session.revocationFinished(outcome, jitter: 0, at: script.moment)
        #expect(effects.last == .finishLogout(result))
        #expect(effects.contains(.forget))
        #expect(script.session.wakeTime == nil)
        let notices = effects.compactMap { effect -> SessionEvent? in
            guard case .notify(let event) = effect else { return nil }
            return event
        }
        #expect(notices.map(\.reason) == (hasLeftover ? ["not_revoked"] : []))
        #expect((script.session.status.message ?? "").contains(result.leftover ?? "by the user"))
    }

    @Test func `a logout of nothing, and one that tells nobody, say so`() {
        var never = SessionScript()
        #expect(
            never.session.logoutRequested(local: false, at: never.moment).last
                == .finishLogout(.nothingToRevoke)
        )
        var local = SessionScript.ready()
        #expect(
            local.session.logoutRequested(local: true, at: local.moment).last == .finishLogout(.local)
        )
    }

    @Test func `a revocation that works when nobody waits any more is told`() {
        var script = SessionScript.ready()
        _ = script.session.logoutRequested(local: false, at: script.moment)
        let failure = RefreshFailure(kind: .busy, message: "503")
        _ = script.session.revocationFinished(.failed(failure), jitter: 0, at: script.moment)
        _ = script.sleepUntilWake()
        let effects = script.session.revocationFinished(.revoked, jitter: 0, at: script.moment)
        #expect(effects.contains(.notify(SessionEvent(.loggedOut, reason: "revoked"))))
    }

    @Test(.holds("72")) func `a revocation that fails is repeated for a day`() {
        var script = SessionScript.ready()
        _ = script.session.logoutRequested(local: false, at: script.moment)
        let begin = script.moment.now
        let failure = RefreshFailure(kind: .busy, message: "503")
        var effects = script.session.revocationFinished(.failed(failure), jitter: 0, at: script.moment)
        #expect(effects == [.finishLogout(.notYetRevoked(message: "503"))])
        var tries = 0
        while script.session.wakeTime != nil {
            effects = script.sleepUntilWake()
            tries += 1
            effects += script.session.revocationFinished(.failed(failure), jitter: 0, at: script.moment)
        }
        #expect(script.moment.now - begin == .seconds(86400))
        #expect(effects.contains(.forget))
        #expect(tries > 20)
    }

    @Test(.holds("O49")) func `a server that asks for patience is told of a logout no sooner`() {
        var script = SessionScript.ready()
        _ = script.session.logoutRequested(local: false, at: script.moment)
        let begin = script.moment.now
        let failure = RefreshFailure(kind: .busy, message: "503", retryAfter: .seconds(90))
        for number in 1...2 {
            _ = script.session.revocationFinished(.failed(failure), jitter: 0, at: script.moment)
            let effects = script.sleepUntilWake()
            #expect(effects.contains { if case .revoke = $0 { true } else { false } })
            #expect(script.moment.now - begin == .seconds(90 * number))
        }
        #expect(script.session.revocationFinished(.revoked, jitter: 0, at: script.moment).contains(.forget))
    }

    @Test func `a local logout asks no server`() {
        var script = SessionScript.ready()
        let effects = script.session.logoutRequested(local: true, at: script.moment)
        #expect(effects.contains(.forget))
        #expect(!effects.contains { if case .revoke = $0 { true } else { false } })
    }

    @Test func `a refresh in flight cannot bring a logged out session back`() throws {
        var script = SessionScript.ready()
        let due = script.sleepUntilWake()
        let sent = script.reserve(due)
        let request = try #require(sent)
        _ = script.session.logoutRequested(local: true, at: script.moment)
        let late = script.session.refreshFinished(
            request.attempt,
            script.granted(refreshToken: SecretID(rawValue: 501)),
            jitter: 0,
            at: script.moment
        )
        let discarded = late.compactMap { effect -> SecretID? in
            guard case .discard(let request) = effect else { return nil }
            return request.refreshToken
        }
        #expect(discarded == [SecretID(rawValue: 501)])
        #expect(late.count == 1)
        #expect(script.session.status.state == .loggedOut)
    }
}
