// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// The key that tokens are bound to lives exactly as long as its login.
@Suite struct ProofKeyTests {
    private let login = LoginNumber(rawValue: 2)
    private let key = SecretID(rawValue: 800)

    /// A session whose login has a key.
    private func bound() -> SessionScript {
        var script = SessionScript()
        logIn(&script, key: key)
        return script
    }

    @discardableResult
    private func logIn(_ script: inout SessionScript, key: SecretID) -> [Effect] {
        _ = script.session.loginStarted(login, at: script.moment)
        let granted = LoginOutcome.granted(script.loginGrant(proofKey: key))
        return script.commitAll(script.session.loginFinished(login, granted, jitter: 0, at: script.moment))
    }

    @Test func `a refresh is sent with the login's key, and the key stays`() throws {
        var script = bound()
        #expect(script.session.proofKey == key)
        let due = script.sleepUntilWake()
        let sent = script.reserve(due)
        let request = try #require(sent)
        #expect(request.proofKey == key)
        let effects = script.session.refreshFinished(
            request.attempt,
            script.granted(),
            jitter: 0,
            at: script.moment
        )
        let done = script.commitAll(effects)
        #expect(!done.contains(.erase(key)))
        #expect(script.session.proofKey == key)
    }

    @Test func `the key is written with the session and read again`() throws {
        let script = bound()
        let snapshot = try #require(script.session.snapshot(at: script.moment))
        #expect(snapshot.proofKey == key)
        #expect(snapshot.secrets.contains(key))
        let restored = Session(
            restoring: snapshot,
            name: script.session.name,
            policy: SessionPolicy(),
            interruption: nil,
            at: script.moment
        )
        #expect(restored.proofKey == key)
    }

    @Test func `a new login has its own key and the old one is erased`() {
        var script = bound()
        let other = SecretID(rawValue: 801)
        let effects = logIn(&script, key: other)
        #expect(effects.contains(.erase(key)))
        #expect(script.session.proofKey == other)
    }

    @Test func `the key of a login that comes too late is erased`() {
        var script = SessionScript()
        _ = script.session.loginStarted(login, at: script.moment)
        _ = script.session.loginStarted(LoginNumber(rawValue: 3), at: script.moment)
        let late = LoginOutcome.granted(script.loginGrant(proofKey: key))
        #expect(script.session.loginFinished(login, late, jitter: 0, at: script.moment).contains(.erase(key)))
    }

    @Test func `a logout erases the key`() {
        var script = bound()
        let effects = script.session.logoutRequested(local: true, at: script.moment)
        #expect(effects.contains(.erase(key)))
        #expect(script.session.proofKey == nil)
    }
}
