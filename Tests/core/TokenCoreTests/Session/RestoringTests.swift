// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

@Suite struct RestoringTests {
    /// Returns the session after a restart.
    ///
    /// For `readings`, see ``Interruption/readings``.
    private func restored(
        _ script: SessionScript,
        interrupted: Bool = false,
        readings: Int? = nil
    ) throws -> SessionScript {
        var copy = script
        let snapshot = try #require(script.session.snapshot(at: script.moment))
        let found = InterruptedRefresh(starts: snapshot.interruptions + 1, readings: readings)
        copy.session = Session(
            restoring: snapshot,
            name: script.session.name,
            policy: script.session.policy,
            interruption: interrupted ? found : nil,
            at: script.moment
        )
        return copy
    }

    @Test(arguments: [
        (FailureClass.grantDead, EndReason.grantDead), (.interactionRequired, .interactionRequired),
        (.clientUnknown, .clientUnknown), (.identityChanged, .identityChanged),
    ])
    func `the reason, the time and the server's words survive a restart`(
        kind: FailureClass,
        reason: EndReason
    ) throws {
        var script = SessionScript.ready(lifetime: .seconds(60))
        let words = "id.example answered 400 invalid_grant: revoked by the administrator"
        let begin = script.sleepUntilWake()
        let time = script.moment.wallTime
        _ = script.answer(begin, .failed(RefreshFailure(kind: kind, message: words)))
        script.advance(by: .seconds(3600))
        script = try restored(script)
        let status = script.session.status
        #expect(status.reason == reason && status.message == words && status.endedAt == time)
        let (waiter, refused) = script.get()
        guard case .failure(.loginRequired(reason, words, _))? = refused.reply(to: waiter) else {
            Issue.record("\(refused)")
            return
        }
        // The same holds after another restart.
        #expect(try restored(script).session.status.message == words)
    }

    @Test func `a record that says nothing of the end but its reason is restored with that`() throws {
        var script = SessionScript.ready(lifetime: .seconds(60))
        _ = script.fail(script.sleepUntilWake(), .grantDead)
        var snapshot = try #require(script.session.snapshot(at: script.moment))
        snapshot.ending = nil
        let session = Session(
            restoring: snapshot,
            name: script.session.name,
            policy: script.session.policy,
            interruption: nil,
            at: script.moment
        )
        #expect(session.status.reason == .grantDead && session.status.endedAt == nil)
        #expect(session.status.message == "the session ended before the agent was started or unlocked")
    }

    @Test func `whether a person or the server ended the login is told`() throws {
        var script = SessionScript.ready()
        #expect(script.session.status.endedBy == nil)
        _ = script.session.logoutRequested(local: false, at: script.moment)
        #expect(script.session.status.endedBy == .person)
        #expect(try restored(script).session.status.endedBy == .person)
        #expect(try restored(script).session.status.message == "logged out by the user")
        script = SessionScript.ready()
        _ = script.fail(script.sleepUntilWake(), .grantDead)
        #expect(script.session.status.endedBy == .server)
        script = SessionScript.ready(policy: SessionPolicy(maximumSessionAge: .seconds(100)))
        script.advance(by: .seconds(100))
        _ = script.tick()
        #expect(script.session.status.reason == .sessionTooOld && script.session.status.endedBy == nil)
    }

    @Test func `a restart serves valid tokens at once, without a request`() throws {
        var script = try restored(SessionScript.ready())
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == SessionScript.accessToken)
        #expect(!script.tick().sendsRequest)
        #expect(script.session.status.state == .ready)
    }

    @Test(.holds("65")) func `an interrupted refresh is replayed at once and its refusal is an honest end`()
        throws
    {
        var script = try restored(SessionScript.ready(), interrupted: true)
        #expect(script.session.wakeTime == script.moment.now)
        let (waiter, served) = script.get()
        #expect(served.reply(to: waiter)?.secret == SessionScript.accessToken)
        let replay = script.tick()
        #expect(replay.sendsRequest)
        _ = script.fail(replay, .grantDead)
        #expect(script.session.status.reason == .replyLost)
    }

    /// The agent ends each time after its intent is durable.
    @Test(.holds("65")) func `a replay that ended the agent is tried again later, the more often the later`()
        throws
    {
        var script = try restored(SessionScript.ready(), interrupted: true)
        var waits: [Duration] = []
        for _ in 0..<10 {
            let replay = script.sleepUntilWake()
            #expect(replay.sendsRequest)
            let started = script.moment.now
            script = try restored(script, interrupted: true)
            waits.append(try #require(script.session.wakeTime) - started)
            guard waits.last != .zero else { continue }
            var asking = script
            let (_, served) = asking.get()
            #expect(!served.sendsRequest)
        }
        let seconds: [Int64] = [0, 30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600]
        #expect(waits == seconds.map { .seconds($0) })
    }

    @Test(.holds("65"))
    func `kills while the answer is on its way put nothing off, and only readings of it count`() throws {
        var script = try restored(SessionScript.ready(), interrupted: true, readings: 0)
        for _ in 0..<9 {
            #expect(script.session.wakeTime == script.moment.now)
            #expect(script.tick().sendsRequest)
            script = try restored(script, interrupted: true, readings: 0)
        }
        // A response that ends the process before it is read is postponed anyway.
        script = try restored(script, interrupted: true, readings: 0)
        #expect(script.session.wakeTime == script.moment.now + .seconds(30))
        let first = SessionScript.ready()
        let waits = try (0..<9).map { readings in
            let found = try restored(first, interrupted: true, readings: readings)
            return try #require(found.session.wakeTime) - first.moment.now
        }
        let seconds: [Int64] = [0, 0, 30, 60, 120, 240, 480, 960, 1_920]
        #expect(waits == seconds.map { .seconds($0) })
    }

    @Test func `an attempt that ended, however it did, makes the next interruption the first one`() throws {
        var script = try restored(SessionScript.ready(), interrupted: true)
        for _ in 0..<2 { script = try restored(script, interrupted: true) }
        #expect(script.session.wakeTime.map { $0 > script.moment.now } == true)
        let replay = script.sleepUntilWake()
        _ = script.fail(replay, .ambiguous)
        script = try restored(script, interrupted: true)
        #expect(script.session.wakeTime == script.moment.now)
    }

    @Test func `a session that ended is still ended, and still serves a token that outlived it`() throws {
        var script = SessionScript.ready()
        let due = script.sleepUntilWake()
        _ = script.fail(due, .interactionRequired)
        script = try restored(script)
        #expect(script.session.status.reason == .interactionRequired)
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == SessionScript.accessToken)
        #expect(!script.sleepUntilWake().sendsRequest)
    }

    @Test(.holds("72")) func `a logout the server has not heard of is finished after a restart`() throws {
        var script = SessionScript.ready()
        _ = script.session.logoutRequested(local: false, at: script.moment)
        script = try restored(script)
        let effects = script.tick()
        #expect(effects.contains { if case .revoke = $0 { true } else { false } })
        let (waiter, refused) = script.get()
        #expect(refused.reply(to: waiter)?.isLoginRequired == true)
    }

    @Test(.holds("109")) func `an absurd stored time is due, not a trap`() throws {
        var script = SessionScript.ready()
        script.moment = Moment(now: Instant(nanoseconds: .max), wallTime: WallTime(secondsSince1970: .max))
        script = try restored(script)
        #expect(script.tick().sendsRequest)
    }

    @Test func `an unsafe record is written again until it is durable`() {
        var script = SessionScript.ready()
        let due = script.sleepUntilWake()
        guard let request = script.reserve(due) else {
            Issue.record("nothing was sent")
            return
        }
        let committing = script.session.refreshFinished(
            request.attempt,
            script.granted(),
            jitter: 0,
            at: script.moment
        )
        let broken = CommitDurability.lifeboat(StorageFailure(message: "Input/output error"))
        let published = script.commitAll(committing, broken)
        #expect(published.notified == [.refreshed])
        #expect(script.session.status.storage == broken)
        script.advance(by: .seconds(5))
        let recommit = script.tick()
        #expect(recommit.contains { if case .commit = $0 { true } else { false } })
        script.commitAll(recommit)
        #expect(script.session.status.storage == .durable)
    }
}
