// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

/// Temporary failures of programs and files in the configuration.
@Suite struct HelperFailureTests {
    private static let line =
        "client_secret_command: pass: exit status 2: gpg: decryption failed: No secret key"

    private func fail(_ script: inout SessionScript, _ effects: [Effect], _ kind: FailureClass) -> [Effect] {
        script.answer(effects, .failed(RefreshFailure(kind: kind, message: Self.line)))
    }

    /// Case helper-fails-once.
    @Test(.holds("213"))
    func `a program that fails is run again after 20 s, 1, 5 and 15 minutes, then every 15`() {
        var script = SessionScript.ready()
        script.advance(by: .seconds(700))
        var effects = script.tick()
        var pauses: [Int64] = []
        for _ in 0..<6 {
            #expect(effects.sendsRequest)
            _ = fail(&script, effects, .helperFailed)
            #expect(script.session.status.state == .retrying)
            let failed = script.moment.now
            effects = script.sleepUntilWake()
            pauses.append((script.moment.now - failed).wholeSeconds)
        }
        #expect(pauses == [20, 60, 300, 900, 900, 900])
        #expect(script.answer(effects, script.granted()).notified == [.refreshed])
        #expect(script.session.status.state == .ready)
    }

    @Test(.holds("213")) func `callers are told the line at once, and bring no run forward`() {
        var script = SessionScript.ready()
        script.advance(by: .seconds(700))
        let (first, begun) = script.get()
        let failed = fail(&script, begun, .helperFailed)
        let told = Reply.failure(.temporarilyUnavailable(message: Self.line, retryAfter: .seconds(20)))
        #expect(failed.reply(to: first) == told)
        script.advance(by: .seconds(15))
        let (second, effects) = script.get()
        #expect(effects.reply(to: second)?.isTemporary == true)
        #expect(!effects.sendsRequest)
    }

    @Test func `a token that is still good is served meanwhile`() {
        var script = SessionScript.ready()
        _ = fail(&script, script.sleepUntilWake(), .helperFailed)
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == SessionScript.accessToken)
    }

    @Test func `another failure in between starts the pauses again`() {
        var script = SessionScript.ready()
        script.advance(by: .seconds(700))
        _ = fail(&script, script.tick(), .helperFailed)
        _ = fail(&script, script.sleepUntilWake(), .helperFailed)
        _ = fail(&script, script.sleepUntilWake(), .unreachable)
        _ = fail(&script, script.sleepUntilWake(), .helperFailed)
        #expect(script.session.wakeTime == script.moment.now + .seconds(20))
    }

    @Test func `after a reload the program is run at once`() {
        var script = SessionScript.ready()
        script.advance(by: .seconds(700))
        _ = fail(&script, script.tick(), .helperFailed)
        #expect(script.session.retryAllowed(at: script.moment).sendsRequest)
    }

    @Test(.holds("213")) func `a wrong password or PIN is tried again by a person alone`() {
        var script = SessionScript.ready()
        script.advance(by: .seconds(700))
        _ = fail(&script, script.tick(), .credentialRejected)
        #expect(script.session.status.state == .suspended)
        #expect(script.session.status.nextRefreshAt == nil)
        script.advance(by: .seconds(30 * 86_400))
        #expect(!script.tick().sendsRequest)
        let (waiter, effects) = script.get()
        #expect(!effects.sendsRequest)
        guard case .failure(.misconfigured(Self.line, _))? = effects.reply(to: waiter) else {
            Issue.record("\(effects)")
            return
        }
        let person = script.session.refreshRequested(
            by: WaiterID(rawValue: 9),
            rejecting: nil,
            deadline: script.moment.now + .seconds(30),
            at: script.moment
        )
        #expect(person.sendsRequest)
    }

    @Test func `a session that starts by itself does not try a wrong PIN again either`() {
        var script = SessionScript(policy: SessionPolicy(startsByItself: true))
        _ = fail(&script, script.tick(), .credentialRejected)
        #expect(script.session.status.state == .suspended)
        #expect(script.session.wakeTime == nil)
    }

    // MARK: Logins without a user

    private func ended(_ kind: FailureClass) throws -> (SessionScript, [Effect]) {
        var script = SessionScript.ready(policy: SessionPolicy(noninteractiveLogins: [.command]))
        let effects = script.fail(script.sleepUntilWake(), .sessionOver)
        let failed = try noninteractiveLoginFails(&script, effects, kind)
        return (script, failed)
    }

    private func noninteractiveLoginFails(
        _ script: inout SessionScript,
        _ effects: [Effect],
        _ kind: FailureClass
    ) throws -> [Effect] {
        let number = try #require(
            effects.compactMap { effect -> LoginNumber? in
                guard case .reauthenticate(let number, _, _) = effect else { return nil }
                return number
            }.first
        )
        let failure = RefreshFailure(kind: kind, message: "reauth_command: locked")
        let failed = script.session.noninteractiveLoginFinished(
            number,
            .failed(failure),
            jitter: 0,
            at: script.moment
        )
        return failed + script.commitAll(failed)
    }

    @Test(.holds("213")) func `reauth_command that does not work is run again, and a person is told once`()
        throws
    {
        var (script, effects) = try ended(.helperFailed)
        #expect(effects.notified == [.loginRequired])
        var pauses: [Int64] = []
        for _ in 0..<5 {
            let failed = script.moment.now
            var begun: [Effect] = []
            // The refresh token is also tried from time to time.
            for _ in 0..<9
            where !begun.contains(where: { if case .reauthenticate = $0 { true } else { false } }) {
                begun = script.sleepUntilWake()
                if begun.sendsRequest { begun += script.fail(begun, .sessionOver) }
            }
            pauses.append((script.moment.now - failed).wholeSeconds)
            #expect(script.session.status.state == .loggingIn)
            let failedAgain = try noninteractiveLoginFails(&script, begun, .helperFailed)
            #expect(failedAgain.notified.isEmpty)
            #expect(script.session.status.message?.components(of: "logging in again failed") == 2)
        }
        #expect(pauses == [20, 60, 300, 900, 900])
    }

    @Test(
        .holds("213"),
        arguments: [FailureClass.interactionRequired, .grantDead, .credentialRejected, .misconfigured]
    )
    func `a password that was refused is not shown again`(kind: FailureClass) throws {
        var (script, effects) = try ended(kind)
        #expect(effects.notified == [.loginRequired])
        script.advance(by: .seconds(86_400))
        #expect(!script.tick().contains { if case .reauthenticate = $0 { true } else { false } })
    }

    @Test func `a login by a person ends the tries`() throws {
        var (script, _) = try ended(.helperFailed)
        _ = script.session.loginStarted(LoginNumber(rawValue: 5), at: script.moment)
        script.advance(by: .seconds(60))
        #expect(!script.tick().contains { if case .reauthenticate = $0 { true } else { false } })
        #expect(script.session.wakeTime.map { $0 > script.moment.now } ?? true)
    }
}

extension String {
    /// Returns the number of pieces into which `separator` splits the string.
    fileprivate func components(of separator: String) -> Int {
        let (text, part) = (Array(utf8), Array(separator.utf8))
        return 1 + (0..<max(0, text.count - part.count + 1)).count { text[$0...].starts(with: part) }
    }
}
