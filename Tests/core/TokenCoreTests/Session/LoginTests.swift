// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

@Suite struct LoginTests {
    private let second = LoginNumber(rawValue: 2)

    @Test func `a login is finished only when it is durable`() {
        var script = SessionScript()
        _ = script.session.loginStarted(second, at: script.moment)
        #expect(script.session.status.state == .loggingIn)
        let effects = script.session.loginFinished(
            second,
            .granted(script.loginGrant()),
            jitter: 0,
            at: script.moment
        )
        #expect(!effects.contains { if case .finishLogin = $0 { true } else { false } })
        let done = script.commitAll(effects)
        #expect(done.notified == [.loggedIn])
        #expect(done.contains { if case .finishLogin(second, .done) = $0 { true } else { false } })
        #expect(script.session.status.state == .ready)
    }

    @Test func `the old login is served while a new one is under way`() {
        var script = SessionScript.ready()
        _ = script.session.loginStarted(second, at: script.moment)
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == SessionScript.accessToken)
        #expect(script.session.status.state == .ready)
    }

    @Test func `a new login is not overwritten by the old refresh that was in flight`() throws {
        var script = SessionScript.ready()
        let due = script.sleepUntilWake()
        let sent = script.reserve(due)
        let request = try #require(sent)
        _ = script.session.loginStarted(second, at: script.moment)
        let granted = script.session.loginFinished(
            second,
            .granted(script.loginGrant()),
            jitter: 0,
            at: script.moment
        )
        let late = script.session.refreshFinished(
            request.attempt,
            script.granted(),
            jitter: 0,
            at: script.moment
        )
        #expect(!late.contains { if case .commit = $0 { true } else { false } })
        let done = script.commitAll(granted)
        #expect(done.contains(.erase(SessionScript.refreshToken)))
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == SecretID(rawValue: 700))
    }

    @Test func `nothing of the old login is sent while the new one is being made durable`() {
        var script = SessionScript.ready()
        _ = script.session.loginStarted(second, at: script.moment)
        let granted = script.session.loginFinished(
            second,
            .granted(script.loginGrant()),
            jitter: 0,
            at: script.moment
        )
        script.advance(by: .seconds(599.9))
        let (waiter, waiting) = script.get()
        #expect(waiting.isEmpty)
        #expect(!script.tick().sendsRequest)
        script.advance(by: .seconds(-599.9))
        #expect(script.commitAll(granted).reply(to: waiter)?.secret == SecretID(rawValue: 700))
    }

    @Test func `a failed or cancelled login leaves the old one as it was`() {
        for outcome in [
            LoginOutcome.cancelled, .failed(RefreshFailure(kind: .interactionRequired, message: "no")),
        ] {
            var script = SessionScript.ready()
            _ = script.session.loginStarted(second, at: script.moment)
            let effects = script.session.loginFinished(second, outcome, jitter: 0, at: script.moment)
            #expect(effects.count == 1)
            #expect(script.session.status.state == .ready)
        }
    }

    @Test(arguments: [LoginsEndedByRevocation.token, .grant, nil])
    func
        `the later of two logins wins, and the earlier one's tokens are revoked where that ends nothing else`(
            revokes: LoginsEndedByRevocation?
        )
    {
        var script = SessionScript(policy: SessionPolicy(revokes: revokes))
        let third = LoginNumber(rawValue: 3)
        _ = script.session.loginStarted(second, at: script.moment)
        #expect(script.session.loginStarted(third, at: script.moment) == [.finishLogin(second, .superseded)])
        let late = script.session.loginFinished(
            second,
            .granted(script.loginGrant()),
            jitter: 0,
            at: script.moment
        )
        guard revokes == .token else {
            #expect(late == [.erase(SecretID(rawValue: 700)), .erase(SecretID(rawValue: 701))])
            return
        }
        #expect(late.count == 1)
        guard case .discard(let request)? = late.first else {
            Issue.record("tokens of the earlier login were not revoked")
            return
        }
        #expect(request.refreshToken == SecretID(rawValue: 701))
    }

    /// The tokens that are to be revoked, and those that are only erased.
    private func ends(_ effects: [Effect]) -> (revoked: [RevocationRequest], erased: Set<SecretID>) {
        var (revoked, erased): ([RevocationRequest], Set<SecretID>) = ([], [])
        for effect in effects {
            if case .discard(let request) = effect { revoked.append(request) }
            if case .erase(let secret) = effect { erased.insert(secret) }
        }
        return (revoked, erased)
    }

    private func logInAgain(_ script: inout SessionScript, _ outcome: CommitDurability = .durable) -> [Effect]
    {
        _ = script.session.loginStarted(second, at: script.moment)
        let granted = LoginOutcome.granted(script.loginGrant())
        let effects = script.session.loginFinished(second, granted, jitter: 0, at: script.moment)
        guard case .commit(let number, _)? = effects.first else { return effects }
        return script.session.commitFinished(number, outcome, at: script.moment)
    }

    @Test func `a login that another one has replaced is revoked, once that one is durable`() throws {
        let policy = SessionPolicy(revokes: .token)
        var script = SessionScript.ready(policy: policy, idToken: SessionScript.idToken)
        let (revoked, erased) = ends(logInAgain(&script))
        let request = try #require(revoked.first)
        #expect(revoked.count == 1)
        #expect(request.refreshToken == SessionScript.refreshToken)
        #expect(request.accessToken == SessionScript.accessToken)
        #expect(request.tokenEndpoint == "https://id.example/token")
        // It would end the user's session in the browser, which the new login may be of.
        #expect(request.idToken == nil)
        #expect(erased == [SessionScript.idToken])
        var pending = SessionScript.ready(policy: policy)
        let undurable = ends(logInAgain(&pending, .memoryOnly(StorageFailure(message: "full"))))
        #expect(undurable.revoked.isEmpty)
        #expect(undurable.erased == [SessionScript.accessToken, SessionScript.refreshToken])
    }

    @Test(arguments: [LoginsEndedByRevocation.grant, nil])
    func `a login that is replaced is only erased where the new one might end with it`(
        revokes: LoginsEndedByRevocation?
    ) {
        var script = SessionScript.ready(policy: SessionPolicy(revokes: revokes))
        let (revoked, erased) = ends(logInAgain(&script))
        #expect(revoked.isEmpty)
        #expect(erased == [SessionScript.accessToken, SessionScript.refreshToken])
    }

    @Test
    func `in a fleet the host that replaces the login in etcd has it revoked, and the session does not`() {
        var script = SessionScript.ready(policy: SessionPolicy(isShared: true, revokes: .token))
        let (revoked, erased) = ends(logInAgain(&script))
        #expect(revoked.isEmpty)
        #expect(erased == [SessionScript.accessToken, SessionScript.refreshToken])
    }

    @Test(arguments: [LoginsEndedByRevocation.token, nil])
    func `an answer that belongs to the login before is revoked where that ends nothing else`(
        revokes: LoginsEndedByRevocation?
    ) throws {
        var script = SessionScript.ready(policy: SessionPolicy(revokes: revokes))
        let reserved = script.reserve(script.sleepUntilWake())
        let request = try #require(reserved)
        _ = logInAgain(&script)
        let tokens = script.granted(refreshToken: SecretID(rawValue: 501))
        let late = ends(script.session.refreshFinished(request.attempt, tokens, jitter: 0, at: script.moment))
        #expect(late.revoked.map(\.refreshToken) == (revokes == .token ? [SecretID(rawValue: 501)] : []))
        #expect(late.erased.contains(SecretID(rawValue: 501)) == (revokes == nil))
    }

    @Test func `a login that is being made durable is finished, and the next one gives way to it`() {
        var script = SessionScript()
        let third = LoginNumber(rawValue: 3)
        _ = script.session.loginStarted(second, at: script.moment)
        let granted = LoginOutcome.granted(script.loginGrant())
        let effects = script.session.loginFinished(second, granted, jitter: 0, at: script.moment)
        #expect(script.session.loginStarted(third, at: script.moment) == [.finishLogin(third, .superseded)])
        let ended = script.commitAll(effects).compactMap { effect in
            if case .finishLogin(let number, .done) = effect { number } else { nil }
        }
        #expect(ended == [second])
        #expect(script.session.status.state == .ready)
    }

    private func ended(_ policy: SessionPolicy) -> (SessionScript, LoginNumber?, [Effect]) {
        var script = SessionScript.ready(policy: policy)
        let due = script.sleepUntilWake()
        let effects = script.fail(due, .interactionRequired)
        for case .reauthenticate(let number, _, _) in effects { return (script, number, effects) }
        return (script, nil, effects)
    }

    @Test func `a silent login is tried before anybody is told, and callers wait for it`() throws {
        var (script, number, effects) = ended(SessionPolicy(noninteractiveLogins: [.command]))
        let silent = try #require(number)
        #expect(effects.notified.isEmpty)
        script.advance(by: .seconds(600))
        let (waiter, waiting) = script.get()
        #expect(waiting.isEmpty)
        effects = script.session.noninteractiveLoginFinished(
            silent,
            .granted(script.loginGrant()),
            jitter: 0,
            at: script.moment
        )
        let done = script.commitAll(effects)
        #expect(done.reply(to: waiter)?.secret == SecretID(rawValue: 700))
        #expect(done.notified == [.loggedIn])
    }

    @Test func `when every silent login fails the person is told once, with both reasons`() throws {
        var (script, number, _) = ended(SessionPolicy(noninteractiveLogins: [.command, .clientCredentials]))
        let silent = try #require(number)
        script.advance(by: .seconds(600))
        let (waiter, _) = script.get()
        let failure = RefreshFailure(kind: .interactionRequired, message: "the password was refused")
        let effects = script.session.noninteractiveLoginFinished(
            silent,
            .failed(failure),
            jitter: 0,
            at: script.moment
        )
        #expect(effects.notified == [.loginRequired])
        #expect(effects.reply(to: waiter)?.isLoginRequired == true)
        #expect(script.session.status.reason == .interactionRequired)
        #expect(script.session.status.message == "no luck; logging in again failed: the password was refused")
    }

    @Test func `a person's login makes the silent one late`() throws {
        var (script, number, _) = ended(SessionPolicy(noninteractiveLogins: [.command], revokes: .token))
        let silent = try #require(number)
        _ = script.session.loginStarted(second, at: script.moment)
        let late = script.session.noninteractiveLoginFinished(
            silent,
            .granted(script.loginGrant()),
            jitter: 0,
            at: script.moment
        )
        #expect(late.contains { if case .discard = $0 { true } else { false } })
        #expect(script.session.status.state == .loggingIn)
    }
}
