// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

@testable import TokenCore

@Suite struct SharedSessionTests {
    /// A session of a fleet whose token is due, with its reservation.
    private static func due(
        noninteractiveLogins: [NoninteractiveLoginMethod] = [],
        revokes: LoginsEndedByRevocation? = nil
    ) throws -> (script: SessionScript, attempt: AttemptNumber) {
        let policy = SessionPolicy(
            noninteractiveLogins: noninteractiveLogins,
            isShared: true,
            revokes: revokes
        )
        var script = SessionScript.ready(lifetime: .seconds(3_600), policy: policy)
        let effects = script.sleepUntilWake()
        #expect(effects.isReserved(in: script))
        return (script, try #require(effects.begun))
    }

    @Test func `it is refreshed a third of the lifetime before the end, however long that is`() throws {
        let policy = SessionPolicy(isShared: true)
        var script = SessionScript.ready(lifetime: .seconds(3_600), policy: policy)
        let start = script.moment.now
        #expect(script.session.wakeTime == start + .seconds(2_400))
        _ = script.sleepUntilWake()
        #expect(RefreshSchedule.lead(forLifetime: .seconds(90), policy: policy) == .seconds(30))
        let alone = SessionPolicy()
        #expect(RefreshSchedule.lead(forLifetime: .seconds(3_600), policy: alone) == .seconds(300))
    }

    @Test func `the moments of a grant are passed on to who sends the request`() throws {
        var (script, attempt) = try Self.due()
        let until = script.moment.now + .seconds(6)
        let fence = RefreshRequestDeadlines(
            sendBefore: until,
            arriveBefore: until + .seconds(20),
            endBefore: until + .seconds(30)
        )
        _ = script.session.reservationFinished(attempt, .granted, jitter: 0, at: script.moment)
        #expect(try #require(script.session.request(of: attempt, within: fence)).fence == fence)
    }

    @Test func `while another host refreshes, a request waits and gets that host's token`() throws {
        var (script, attempt) = try Self.due()
        let held = script.session.reservationFinished(attempt, .held, jitter: 0, at: script.moment)
        #expect(held.isEmpty)
        let (waiter, waiting) = script.get(minimum: .seconds(3_000))
        #expect(waiting.isEmpty)
        let effects = script.session.recordAdopted(script.record(), jitter: 0.5, at: script.moment)
        #expect(effects.reply(to: waiter)?.secret == SecretID(rawValue: 800))
        #expect(effects.contains(.erase(SessionScript.refreshToken)))
        #expect(effects.notified == [.refreshed])
        #expect(script.session.isReady)
    }

    @Test func `what went wrong before another host's token came is not shown any more`() throws {
        var (script, attempt) = try Self.due()
        let away = ReservationResult.unreachable(FleetStoreError(.unavailable, "etcd is away"))
        _ = script.session.reservationFinished(attempt, away, jitter: 0, at: script.moment)
        #expect(script.session.status.message == "etcd is away")
        _ = script.session.recordAdopted(script.record(), jitter: 0.5, at: script.moment)
        #expect(script.session.status.message == nil)
    }

    @Test func `what only a person can put right is said at once, and tried again`() throws {
        var (script, attempt) = try Self.due()
        let (waiter, _) = script.get(minimum: .seconds(3_000), wait: .seconds(300))
        let storeError = FleetStoreError(
            .unreadable,
            "the key is old",
            remedy: .set("the new one"),
            isMistake: true
        )
        let refused = ReservationResult.unreachable(storeError)
        let effects = script.session.reservationFinished(attempt, refused, jitter: 0, at: script.moment)
        let told = ServingFailure.misconfigured(
            message: "the key is old",
            remedy: .set("the new one, then run tokenctl refresh work")
        )
        #expect(effects.contains(.reply(waiter, .failure(told))))
        #expect(try #require(script.session.wakeTime) - script.moment.now <= .seconds(2))
        let again = script.sleepUntilWake()
        #expect(again.isReserved(in: script))
    }

    @Test func `when the other host gave up, the attempt goes on from where it waited`() throws {
        var (script, attempt) = try Self.due()
        _ = script.session.reservationFinished(attempt, .held, jitter: 0, at: script.moment)
        let again = script.session.reservationFinished(attempt, .held, jitter: 0, at: script.moment)
        #expect(again.isEmpty)
        _ = script.session.reservationFinished(attempt, .granted, jitter: 0, at: script.moment)
        #expect(script.session.request(of: attempt) != nil)
    }

    @Test func `a host whose answer is missing is waited for, and callers are told`() throws {
        var (script, attempt) = try Self.due()
        script.advance(by: .seconds(1_200))
        let (waiter, _) = script.get()
        let until = script.moment.now + .seconds(120)
        let effects = script.session.reservationFinished(
            attempt,
            .notBefore(until, "no answer"),
            jitter: 0,
            at: script.moment
        )
        #expect(effects.reply(to: waiter)?.isTemporary == true)
        #expect(script.session.status.message == "no answer")
        #expect(script.session.wakeTime == until)
        #expect(script.sleepUntilWake().sendsRequest)
    }

    @Test func `without the fleet's store nothing is sent, also if the server keeps refresh tokens`() throws {
        let (script, _) = try Self.due()
        var session = script.session
        session.changeLogins { $0.rotation = .keeps }
        let attempt = try #require(session.attemptInFlight)
        let away = StorageFailure(message: "etcd does not answer")
        let effects = session.reservationFinished(attempt, .failed(away), jitter: 0, at: script.moment)
        #expect(!effects.sendsRequest)
        #expect(session.status.state == .retrying)
    }

    @Test func `the hosts that adopt one record refresh at different times`() throws {
        var (first, _) = try Self.due()
        var second = first
        _ = first.session.recordAdopted(first.record(), jitter: 0, at: first.moment)
        _ = second.session.recordAdopted(second.record(), jitter: 0.5, at: second.moment)
        let start = first.moment.now
        #expect(first.session.wakeTime == start + .seconds(2_400))
        #expect(second.session.wakeTime == start + .seconds(2_250))
    }

    @Test func `a rescued record is tried at once`() throws {
        var (script, _) = try Self.due()
        let record = script.record()
        let effects = script.session.recordAdopted(record, isUnproven: true, jitter: 0, at: script.moment)
        #expect(effects.sendsRequest)
    }

    @Test func `a logout elsewhere ends the session here, with nothing left`() throws {
        var (script, _) = try Self.due()
        script.advance(by: .seconds(1_200))
        let (waiter, _) = script.get()
        let out = script.record(standing: .ended(.loggedOut, quarantinedUntil: nil))
        let effects = script.session.recordAdopted(out, jitter: 0, at: script.moment)
        #expect(effects.reply(to: waiter)?.isLoginRequired == true)
        #expect(effects.contains(.forget))
        #expect(effects.notified == [.loggedOut])
        #expect(script.session.heldSecrets.isEmpty)
        #expect(script.session.status.reason == .loggedOut)
        let again = script.session.recordAdopted(out, jitter: 0, at: script.moment)
        #expect(again.notified.isEmpty)
    }

    @Test func `a logout elsewhere is heeded while a request is under way, and the late answer revoked`()
        throws
    {
        var (script, attempt) = try Self.due()
        _ = script.session.reservationFinished(attempt, .granted, jitter: 0, at: script.moment)
        script.advance(by: .seconds(1_200))
        let (waiter, _) = script.get()
        let effects = script.session.loggedOutElsewhere(at: script.moment)
        #expect(effects.reply(to: waiter)?.isLoginRequired == true)
        #expect(effects.notified == [.loggedOut] && !effects.contains(.forget))
        #expect(script.session.loggedOutElsewhere(at: script.moment).isEmpty)
        let late = script.session.refreshFinished(attempt, script.granted(), jitter: 0, at: script.moment)
        #expect(!late.contains { if case .commit = $0 { true } else { false } })
        #expect(script.session.status.state == .loggedOut)
    }

    @Test func `a login that has ended here by itself stays ended, whatever the others make of it`() throws {
        let policy = SessionPolicy(maximumSessionAge: .seconds(600), isShared: true)
        var script = SessionScript.ready(lifetime: .seconds(3_600), policy: policy)
        let record = script.record()
        script.advance(by: .seconds(600))
        #expect(script.tick().notified == [.loginRequired])
        let effects = script.session.recordAdopted(record, jitter: 0, at: script.moment)
        #expect(effects.notified.isEmpty)
        #expect(script.session.status.reason == .sessionTooOld)
        #expect(script.session.heldSecrets.contains(SecretID(rawValue: 801)))
        var over = script
        let logout = over.session.logoutRequested(local: false, at: over.moment)
        #expect(logout.contains { if case .revoke = $0 { true } else { false } })
        // A new login is another matter.
        let next = script.session.recordAdopted(script.record(), jitter: 0, at: script.moment)
        #expect(next.notified == [.loggedIn])
    }

    @Test(.holds("267")) func `a login elsewhere brings a session back that was logged out here`() throws {
        var (script, _) = try Self.due()
        _ = script.session.logoutRequested(local: true, at: script.moment)
        let effects = script.session.recordAdopted(script.record(), jitter: 0, at: script.moment)
        #expect(effects.notified == [.loggedIn])
        #expect(script.session.isReady)
    }

    @Test(arguments: [EndReason.grantDead, .replyLost, .interactionRequired, .identityChanged])
    func `a dead record ends the session with its reason`(reason: EndReason) throws {
        var (script, _) = try Self.due()
        let dead = script.record(standing: .ended(reason, quarantinedUntil: nil))
        let effects = script.session.recordAdopted(dead, jitter: 0, at: script.moment)
        #expect(script.session.status.reason == reason)
        #expect(effects.notified == [.loginRequired])
        #expect(script.session.snapshot(at: script.moment)?.secrets.contains(SecretID(rawValue: 801)) == true)
        // No other host is asked to confirm it, and nor is this one.
        #expect(script.session.wakeTime == script.moment.now + RetrySchedule.quarantine)
    }

    @Test func `of all hosts only the one that may logs in without a person`() throws {
        let (script, _) = try Self.due(noninteractiveLogins: [.command])
        let dead = script.record(standing: .ended(.grantDead, quarantinedUntil: nil))
        for may in [true, false] {
            var session = script.session
            let effects = session.recordAdopted(
                dead,
                mayLogInNoninteractively: may,
                jitter: 0,
                at: script.moment
            )
            let isTried = effects.contains { if case .reauthenticate = $0 { true } else { false } }
            #expect(isTried == may)
            #expect(session.policy.noninteractiveLogins == [.command])
        }
    }

    @Test func `a refusal ends nothing by itself: the fleet's record says when the login is over`() throws {
        for kind in [FailureClass.grantDead, .sessionOver, .identityChanged, .unexplained] {
            var (script, attempt) = try Self.due()
            _ = script.session.reservationFinished(attempt, .granted, jitter: 0, at: script.moment)
            #expect(script.session.request(of: attempt) != nil)
            let failure = RefreshOutcome.failed(RefreshFailure(kind: kind, message: "no"))
            _ = script.session.refreshFinished(attempt, failure, jitter: 0, at: script.moment)
            #expect(script.session.status.state == .retrying, "\(kind)")
        }
    }

    @Test func `an answer that nobody waits for is not revoked`() throws {
        var (script, attempt) = try Self.due()
        _ = script.session.reservationFinished(attempt, .granted, jitter: 0, at: script.moment)
        _ = script.session.recordAdopted(script.record(), jitter: 0, at: script.moment)
        let late = script.session.refreshFinished(attempt, script.granted(), jitter: 0, at: script.moment)
        #expect(late.isEmpty)
    }

    @Test(arguments: [LoginsEndedByRevocation.token, .grant, nil])
    func `the loser of two logins is told, and its tokens are revoked where that ends nothing else`(
        revokes: LoginsEndedByRevocation?
    ) throws {
        var (script, _) = try Self.due(revokes: revokes)
        let number = LoginNumber(rawValue: 2)
        _ = script.session.loginStarted(number, at: script.moment)
        let grant = LoginOutcome.granted(script.loginGrant())
        let effects = script.session.loginFinished(number, grant, jitter: 0, at: script.moment)
        guard case .commit(let commit, _) = effects.first else {
            Issue.record("the login is not stored: \(effects)")
            return
        }
        _ = script.session.recordAdopted(script.record(), jitter: 0, at: script.moment)
        let told = script.session.loginSuperseded(commit)
        #expect(told.contains(.finishLogin(number, .superseded)))
        let revoked = told.compactMap { effect in
            if case .discard(let request) = effect { request.refreshToken } else { nil }
        }
        #expect(revoked == (revokes == .token ? [SecretID(rawValue: 701)] : []))
        #expect(told.contains(.erase(SecretID(rawValue: 701))) == (revokes != .token))
        #expect(script.session.isReady)
        #expect(script.session.loginSuperseded(commit).isEmpty)
    }

    @Test(arguments: [true, false])
    func `who has logged out here alone is told what brings the host back`(isReader: Bool) {
        let policy = SessionPolicy(isShared: true, isReader: isReader)
        let join = Remedy.run("tokenctl fleet join work")
        var script = SessionScript.ready(lifetime: .seconds(3_600), policy: policy)
        _ = script.session.logoutRequested(local: true, at: script.moment)
        #expect(script.session.status.remedy == join)
        // A start finds what was written then: no login, and nothing of a fleet.
        let gone = SessionSnapshot(
            standing: .ended(.loggedOut, quarantinedUntil: nil),
            renewal: .impossible,
            tokens: [:],
            loggedInAt: script.moment.wallTime,
            tokenEndpoint: ""
        )
        script.session = Session(
            restoring: gone,
            name: .named("work"),
            policy: policy,
            interruption: nil,
            at: script.moment
        )
        #expect(script.session.status.remedy == join)
        #expect(script.session.rejoined().isEmpty)
        #expect(script.session.status.remedy != join)
    }

    @Test func `who has logged out everywhere, or of a session of this host, is told to log in`() {
        let login = Remedy.run("tokenctl login work")
        for (isShared, local) in [(true, false), (false, true), (false, false)] {
            let policy = SessionPolicy(isShared: isShared)
            var script = SessionScript.ready(lifetime: .seconds(3_600), policy: policy)
            _ = script.session.logoutRequested(local: local, at: script.moment)
            #expect(script.session.status.remedy == login, "\(isShared) \(local)")
        }
    }
}
