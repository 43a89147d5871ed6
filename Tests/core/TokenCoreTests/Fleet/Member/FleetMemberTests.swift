// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// One host, step by step: what it asks of etcd, of its disk and of its session.
@Suite struct FleetMemberTests {
    private let now = Instant.seconds(1_000)
    private let record = FleetHeader.record()
    private let place = FleetRevision(cluster: 1, revision: 101)

    /// A host that has seen `record` and looks at etcd to refresh it.
    private func wishing(
        _ reuse: FleetTiming.RefreshTokenReuse = .refused,
        role: FleetRole = .keeper
    ) -> FleetMember {
        var member = FleetMember(.knowing(record), timing: FleetTiming(reuse: reuse), role: role)
        #expect(member.refreshWanted(as: .number(60), expiry: nil, at: now) == [.look])
        return member
    }

    /// A host that may send until 9 s from ``now``.
    private func granted() -> FleetMember {
        var member = wishing()
        #expect(member.looked(.showing(record), at: now) == [.grantLease(.seconds(30))])
        _ = member.leaseGranted(.seconds(30), place, at: now)
        let told = member.transacted(true, place, at: now)
        #expect(told == [.grant(.number(60), record, until: now + .seconds(9))])
        return member
    }

    @Test func `a refresh alone takes a look, a lease, two transactions and one flush`() throws {
        var member = wishing()
        #expect(member.looked(.showing(record), at: now) == [.grantLease(.seconds(30))])
        let intent = FleetIntent.attempt(60)
        let reserve = FleetTransaction(
            if: [.record(record), .intent(nil), .lock(nil), .noLate(record.lineage, parent: 5)],
            then: [.putLock(.number(60)), .putIntent(intent)]
        )
        #expect(member.leaseGranted(.seconds(30), place, at: now) == [.transact(reserve)])
        // The lease less what the request may take, and the margin.
        let until = now + .seconds(9)
        #expect(member.transacted(true, place, at: now) == [.grant(.number(60), record, until: until)])
        let flush = member.answered(.tokens(tokenMark: 60), jitter: 0, at: now)
        guard case .keep(let memory) = try #require(flush.first) else {
            Issue.record("not kept: \(flush)")
            return
        }
        #expect(memory.record == record)
        #expect(memory.answer?.attempt == .number(60))
        let next = FleetHeader.record(6, attempt: 60, proven: 5)
        let commit = FleetTransaction(
            if: [.record(record), .intent(intent)],
            then: [.putRecord(next), .deleteIntent, .deleteLock]
        )
        #expect(member.kept(at: now) == [.transact(commit)])
        _ = member.transacted(true, place, at: now)
        #expect(member.kept(at: now) == [.look])
        #expect(member.memory.record == next)
        #expect(member.memory.answer == nil)
    }

    @Test func `a reservation that comes too late, or from another etcd, is given back`() {
        let restored = FleetRevision(cluster: 2, revision: 500)
        let old = FleetRevision(cluster: 1, revision: 100)
        for (answer, wait) in [(place, 9), (restored, 0), (old, 0)] {
            var member = wishing()
            _ = member.looked(.showing(record), at: now)
            _ = member.leaseGranted(.seconds(30), place, at: now)
            let told = member.transacted(true, answer, at: now + .seconds(Int64(wait)))
            let release = FleetTransaction(
                if: [.intent(.attempt(60))],
                then: [.deleteIntent, .deleteLock]
            )
            #expect(told.last == .transact(release))
            guard case .refuse(.number(60), _) = told.first else {
                Issue.record("the session is told nothing: \(told)")
                continue
            }
        }
    }

    @Test func `after a reservation without an answer, the next look shows whether it stands`() {
        var member = wishing()
        _ = member.looked(.showing(record), at: now)
        _ = member.leaseGranted(.seconds(30), place, at: now)
        #expect(member.transactionUnanswered(at: now) == [.look])
        var stands = member
        let view = FleetSnapshot.showing(record, .attempt(60), lock: 60, revision: 101)
        let told = stands.looked(view, at: now + .seconds(1))
        #expect(told == [.grant(.number(60), record, until: now + .seconds(9))])
        // It was not carried out: the same wish goes on.
        #expect(member.looked(.showing(record), at: now) == [.grantLease(.seconds(30))])
    }

    @Test func `inside a grace the alarm is set for its end, if that comes first`() {
        var member = wishing(.acceptedFor(.seconds(30)))
        let former = FleetIntent.attempt(50, age: 19)
        _ = member.looked(.showing(record, former), at: now)
        _ = member.leaseGranted(.seconds(15), place, at: now)
        // Two seconds are left for the send, and etcd may be one ahead of what it shows.
        let told = member.transacted(true, place, at: now)
        #expect(told == [.grant(.number(60), record, until: now + .seconds(1))])
    }

    /// The moments of a request by a host that is `delay` after its look when it may reserve.
    private func fence(
        _ reuse: FleetTiming.RefreshTokenReuse,
        _ former: FleetIntent? = nil,
        delay: Duration = .zero
    ) throws -> RefreshRequestDeadlines {
        var member = wishing(reuse)
        let lease = member.timing.lease
        _ = member.looked(.showing(record, former), at: now)
        _ = member.leaseGranted(lease, place, at: now + delay)
        _ = member.transacted(true, place, at: now + delay)
        return try #require(member.fence)
    }

    @Test func `an answer is read for as long as another request would come too late`() throws {
        // A look within 19 s leaves a second for another one, also if etcd's clock is one ahead; before, a lock goes.
        let first = try fence(.acceptedFor(.seconds(30)))
        #expect(first.sendBefore == now + .seconds(6))
        #expect(first.arriveBefore == now + .seconds(14))
        #expect(first.endBefore == now + .milliseconds(18_750))
        // The more so the slower etcd is.
        let slow = try fence(.acceptedFor(.seconds(30)), delay: .seconds(1))
        #expect(slow.endBefore == now + .milliseconds(15_750))
        // There is no time for another one: it is read until others lose their patience.
        let patient = now + .seconds(119)
        #expect(try fence(.acceptedFor(.seconds(30)), delay: .seconds(2)).endBefore == patient)
        #expect(try fence(.acceptedFor(.seconds(30)), .attempt(50, age: 10)).endBefore == patient)
        #expect(try fence(.refused).endBefore == patient)
        #expect(try fence(.accepted).endBefore == patient)
        // Half of a second counts too.
        #expect(try fence(.acceptedFor(.seconds(10))).endBefore == now + .milliseconds(4_750))
    }

    @Test func `a server that turns out to keep its refresh tokens is asked again at once`() {
        var member = FleetMember(.knowing(record), timing: FleetTiming(reuse: .refused))
        let view = FleetSnapshot.showing(record, .attempt(50))
        _ = member.refreshWanted(as: .number(60), expiry: nil, at: now)
        let patient = member.looked(view, at: now)
        guard case .postpone(.number(60), _) = patient.last else {
            Issue.record("it is not waited for: \(patient)")
            return
        }
        member.serverFound(member.timing.whereTokensAreKept)
        _ = member.refreshWanted(as: .number(61), expiry: nil, at: now)
        #expect(member.looked(view, at: now) == [.grantLease(.seconds(30))])
        member.serverFound(FleetTiming(reuse: .refused))
        #expect(member.timing.reuse == .refused)
    }

    @Test func `an etcd that answers too late is asked for a longer lease`() {
        var member = wishing(.acceptedFor(.seconds(10)))
        var revision: Int64 = 100
        /// Looks and reserves with a lease of this length, and says what comes of it.
        func reserve(_ lease: Int64, after delay: Duration) -> [FleetAction] {
            revision += 10
            let told = member.looked(.showing(record, revision: revision), at: now)
            #expect(told == [.grantLease(.seconds(lease))])
            let place = FleetRevision(cluster: 1, revision: revision + 1)
            _ = member.leaseGranted(.seconds(lease), place, at: now)
            return member.transacted(true, place, at: now + delay)
        }
        for (lease, delay) in [(5, 2), (10, 7), (20, 17), (30, 27)] as [(Int64, Int64)] {
            let told = reserve(lease, after: .seconds(delay))
            #expect(told.first == .refuse(.number(60), StorageFailure(message: "etcd responded too late")))
            let place = FleetRevision(cluster: 1, revision: revision + 2)
            #expect(member.transacted(true, place, at: now) == [.look])
            _ = member.looked(.showing(record, revision: revision + 2), at: now)
            #expect(member.refreshWanted(as: .number(60), expiry: nil, at: now) == [.look])
        }
        _ = reserve(30, after: .seconds(5))
        #expect(member.fence?.sendBefore == now + .milliseconds(26_500))
    }

    @Test func `a request whose alarm came first needs a longer lease too`() {
        var member = granted()
        _ = member.answered(.untouched, jitter: 0, at: now + .seconds(9))
        #expect(member.delays == 1)
        var early = granted()
        _ = early.answered(.untouched, jitter: 0, at: now + .seconds(8))
        #expect(early.delays == 0)
    }

    @Test func `what ends without tokens is ended in etcd as far as it is known`() {
        let untouched = FleetTransaction(if: [.intent(.attempt(60))], then: [.deleteIntent, .deleteLock])
        let unanswered = FleetTransaction(if: [.lock(.number(60))], then: [.deleteLock])
        let dead = FleetTransaction(
            if: [.record(record), .intent(.attempt(60)), .noLate(record.lineage, parent: 5)],
            then: [
                .putRecord(.record(6, attempt: 50, .dead(.grantDead), proven: 4)), .deleteIntent, .deleteLock,
            ]
        )
        let rows: [(FleetRefreshOutcome, FleetTransaction)] = [
            (.untouched, untouched), (.unanswered, unanswered),
            (.refused(.grantDead, confirmations: 0), dead),
        ]
        for (answer, transaction) in rows {
            var member = granted()
            #expect(member.answered(answer, jitter: 0, at: now) == [.transact(transaction)])
        }
    }

    @Test func `while another host is at it, the session waits, and is told once`() {
        var member = wishing()
        let view = FleetSnapshot.showing(record, .attempt(50, age: 4), lock: 50)
        #expect(member.looked(view, at: now) == [.hold(.number(60))])
        // The lease of the other is over then, if the watch should say nothing.
        #expect(member.wakeTime == now + .seconds(27))
        #expect(member.timeReached(now + .seconds(27)) == [.look])
        #expect(member.looked(view, at: now + .seconds(27)) == [])
        #expect(member.changed(at: now + .seconds(28)) == [.look])
        let newer = FleetHeader.record(6)
        let kept = member.looked(.showing(newer), at: now + .seconds(28))
        #expect(kept.count == 1)
        #expect(member.kept(at: now + .seconds(28)) == [.adopt(newer), .look])
    }

    @Test func `without etcd nothing is sent, and it is asked again later`() {
        var member = wishing()
        _ = member.changed(at: now)
        let told = member.callFailed(jitter: 0, at: now)
        #expect(told == [.refuse(.number(60), StorageFailure(message: "no response from etcd")), .look])
        _ = member.callFailed(jitter: 0, at: now)
        #expect(member.wakeTime == now + .seconds(2))
        #expect(member.timeReached(now + .seconds(2)) == [.look])
        _ = member.callFailed(jitter: 0.5, at: now + .seconds(2))
        #expect(member.wakeTime == now + .seconds(8))
    }

    @Test func `a session's wish that etcd did not answer is the session's to repeat`() {
        var member = wishing()
        _ = member.callFailed(jitter: 0, at: now)
        #expect(member.wakeTime == nil)
        var leasing = wishing()
        _ = leasing.looked(.showing(record), at: now)
        #expect(leasing.callFailed(jitter: 0, at: now).count == 1)
        #expect(leasing.wakeTime == nil)
    }

    @Test func `an answer that etcd does not have yet is offered again`() {
        var member = granted()
        _ = member.answered(.tokens(tokenMark: 60), jitter: 0, at: now)
        _ = member.kept(at: now)
        #expect(member.transactionUnanswered(at: now) == [.look])
        #expect(member.callFailed(jitter: 0, at: now) == [])
        #expect(member.wakeTime == now + .seconds(1))
    }

    @Test func `a logout that etcd did not hear is told again, although the watch says nothing`() {
        var member = FleetMember(.knowing(record), timing: FleetTiming(reuse: .refused))
        #expect(member.loggedOut(at: now).count == 1)
        #expect(member.kept(at: now) == [.look])
        #expect(member.callFailed(jitter: 0, at: now) == [])
        #expect(member.wakeTime == now + .seconds(1))
    }

    @Test func `what etcd does not carry out is offered less and less often`() {
        let answer = StoredRefreshResult(parent: record, intent: .attempt(60), tokenMark: 60, cluster: 1)
        var member = FleetMember(.knowing(record, answer: answer), timing: FleetTiming(reuse: .refused))
        #expect(member.started(at: now) == [.look])
        var pauses: [Duration] = []
        var time = now
        for _ in 0..<8 {
            // It can be read all the time.
            let told = member.looked(.showing(record, .attempt(60)), at: time)
            guard case .transact? = told.first else {
                Issue.record("nothing is offered: \(told)")
                return
            }
            #expect(member.callFailed(jitter: 0, at: time) == [])
            guard let wakeTime = member.wakeTime else { break }
            pauses.append(wakeTime - time)
            time = wakeTime
            #expect(member.timeReached(time) == [.look])
        }
        #expect(pauses == pauses.sorted() && pauses.count == 8)
        #expect(pauses.last == .seconds(30))
    }

    @Test func `an answer that was flushed is settled after a restart`() {
        let answer = StoredRefreshResult(parent: record, intent: .attempt(60), tokenMark: 60, cluster: 1)
        var member = FleetMember(.knowing(record, answer: answer), timing: FleetTiming(reuse: .refused))
        #expect(member.started(at: now) == [.look])
        let told = member.looked(.showing(record, .attempt(60)), at: now)
        guard case .transact(let transaction) = told.first else {
            Issue.record("nothing is committed: \(told)")
            return
        }
        #expect(transaction.changes.first == .putRecord(.record(6, attempt: 60, proven: 5)))
    }

    @Test func `a reader asks the keepers and writes nothing itself`() {
        var member = wishing(role: .reader)
        #expect(member.looked(.showing(record), at: now) == [.hold(.number(60)), .ask(generation: 5)])
        #expect(member.wakeTime == now + .seconds(60))
        // A restored snapshot is for the keepers to put right.
        _ = member.changed(at: now)
        #expect(member.looked(.showing(.record(3)), at: now) == [.ask(generation: 5)])
        var keeper = FleetMember(.knowing(record), timing: FleetTiming(reuse: .refused))
        var view = FleetSnapshot.showing(record)
        view.wanted = 5
        for told in [[FleetAction.asked], []] {
            _ = keeper.changed(at: now)
            #expect(keeper.looked(view, at: now) == told)
        }
    }

    @Test func `a login that never saw etcd is dated before it is written`() {
        var member = FleetMember(FleetPersistentState(), timing: FleetTiming(reuse: .refused))
        _ = member.loggedIn(7, as: .number(70), tokenMark: 70, time: nil, at: now)
        #expect(member.kept(at: now) == [.look])
        guard case .keep(let memory) = member.looked(.showing(nil), at: now).first else {
            Issue.record("nothing is kept")
            return
        }
        #expect(memory.record?.cluster == 1)
        _ = member.kept(at: now)
        let told = member.looked(.showing(nil), at: now)
        guard case .transact(let transaction) = told.first else {
            Issue.record("nothing is written: \(told)")
            return
        }
        #expect(transaction.conditions == [.record(nil)])
        #expect(transaction.changes.contains(.deleteLates))
        _ = member.transacted(true, place, at: now)
        guard case .finishNews(let news, .done(let header)) = member.kept(at: now).first else {
            Issue.record("the person is told nothing")
            return
        }
        #expect(news.attempt == .number(70) && header.lineage == Lineage(number: 1, id: 7))
    }

    @Test func `a reused revision is taken for what it is`() {
        var member = FleetMember(.knowing(record), timing: FleetTiming(reuse: .refused))
        _ = member.started(at: now)
        // The same cluster, with a revision that is lower than what was known before the look.
        guard case .keep(let memory) = member.looked(.showing(record, revision: 80), at: now).first else {
            Issue.record("nothing is kept")
            return
        }
        #expect(memory.isRestored)
        #expect(member.kept(at: now) == [.look])
        let told = member.looked(.showing(record, revision: 80), at: now)
        guard case .transact(let transaction) = told.first,
            case .putIntent(let intent) = transaction.changes.first
        else {
            Issue.record("nothing is marked: \(told)")
            return
        }
        #expect(intent.attempt == .lost)
        _ = member.transacted(true, FleetRevision(cluster: 1, revision: 81), at: now)
        _ = member.kept(at: now)
        #expect(!member.memory.isRestored)
    }

    @Test func `a login after etcd was put back has nothing to wait for`() {
        let memory = FleetPersistentState.knowing(.record(5, .dead(.grantDead))).restored
        let (next, _) = memory.taking(.record(0, login: 2, attempt: 70))
        #expect(!next.isRestored && next.isUnpublished)
        let (out, _) = FleetPersistentState.knowing(record).restored.taking(record.loggedOut())
        #expect(out.isRestored)
    }
}
