// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

/// A host that was stopped when it may have sent something looks for the answer before anything else.
@Suite struct FleetRecoveryTests {
    private let now = Instant.seconds(1_000)
    private let record = FleetHeader.record()
    private let place = FleetRevision(cluster: 1, revision: 101)

    /// A host that was stopped after attempt 60 was granted.
    private var stopped: FleetMember {
        var memory = FleetPersistentState.knowing(record)
        memory.sending = PendingSend(parent: record, intent: .attempt(60), cluster: 1)
        return FleetMember(memory, timing: FleetTiming(reuse: .refused))
    }

    private var recovering: FleetMember {
        var member = stopped
        #expect(member.started(at: now) == [])
        #expect(member.refreshWanted(as: .number(61), expiry: nil, at: now) == [.recover(.number(60))])
        return member
    }

    @Test func `what it has sent is known before it is sent, and forgotten with the answer`() throws {
        var member = FleetMember(.knowing(record), timing: FleetTiming(reuse: .refused))
        _ = member.refreshWanted(as: .number(60), expiry: nil, at: now)
        _ = member.looked(.showing(record), at: now)
        _ = member.leaseGranted(.seconds(30), FleetRevision(cluster: 1, revision: 100), at: now)
        #expect(member.memory.sending == nil)
        _ = member.transacted(true, place, at: now)
        let sending = try #require(member.memory.sending)
        #expect(sending.parent == record)
        #expect(sending.intent.attempt == .number(60))
        let told = member.answered(.tokens(tokenMark: 60), jitter: 0, at: now)
        guard case .keep(let memory) = try #require(told.first) else {
            Issue.record("not kept: \(told)")
            return
        }
        #expect(memory.sending == nil)
        #expect(memory.answer?.intent == sending.intent)
    }

    @Test(.holds("262")) func `nothing that etcd shows comes before it`() {
        var member = stopped
        #expect(member.started(at: now) == [])
        #expect(member.changed(at: now) == [])
        #expect(member.shown(.showing(.record(6), revision: 102), at: now) == [])
        #expect(member.resealWanted(at: now) == [])
        #expect(member.wakeTime == nil)
        #expect(member.refreshWanted(as: .number(61), expiry: nil, at: now) == [.recover(.number(60))])
    }

    @Test func `an answer that was recorded becomes the record, as if the host had not been stopped`() {
        var member = recovering
        let answer = StoredRefreshResult(parent: record, intent: .attempt(60), tokenMark: 70, cluster: 1)
        var kept = FleetPersistentState.knowing(record, answer: answer)
        kept.sending = nil
        #expect(member.answered(.tokens(tokenMark: 70), jitter: 0, at: now) == [.keep(kept)])
        let commit = FleetWrite.commit(answer.header, answer).transaction
        #expect(member.kept(at: now) == [.transact(commit)])
    }

    @Test func `it is laid beside a record that another host has made meanwhile`() {
        var member = recovering
        _ = member.answered(.tokens(tokenMark: 70), jitter: 0, at: now)
        _ = member.kept(at: now)
        _ = member.transacted(false, place, at: now)
        let dead = record.refused(.replyLost)
        let late = LateResponse(
            lineage: record.lineage,
            parent: record.generation,
            attempt: .number(60),
            tokenMark: 70,
            cluster: 1
        )
        let told = member.looked(.showing(dead, revision: 102), at: now)
        #expect(told == [.transact(FleetWrite.place(late, beside: dead).transaction)])
    }

    @Test(.holds("262"))
    func `if none was recorded its lock is left to its lease, for the request may be under way`() {
        var member = recovering
        #expect(member.answered(.unanswered, jitter: 0, at: now) == [.look])
        #expect(member.memory.sending == nil)
        #expect(member.looked(.showing(record, .attempt(60), lock: 60), at: now) == [])
        #expect(member.refreshWanted(as: .number(62), expiry: nil, at: now) == [.look])
        let told = member.looked(.showing(record, .attempt(60), lock: 60), at: now)
        #expect(told == [.hold(.number(62))])
    }

    @Test func `a refusal that was recorded has to be confirmed like any other`() {
        var member = recovering
        let told = member.answered(.refused(.grantDead, confirmations: 1), jitter: 0, at: now)
        let until = now + RetrySchedule.confirmationDelay(jitter: 0)
        #expect(told.first == .postpone(.number(60), until: until))
        #expect(told.count == 2)
    }

    @Test func `whoever could not look looks again with the next wish`() {
        var member = recovering
        #expect(member.answered(.untouched, jitter: 0, at: now) == [])
        #expect(member.memory.sending != nil)
        #expect(member.refreshWanted(as: .number(62), expiry: nil, at: now) == [.recover(.number(60))])
    }

    @Test(arguments: [false, true])
    func `a person who logs in does not wait for it`(isRecovering: Bool) throws {
        var member = isRecovering ? recovering : stopped
        var told = member.loggedIn(7, as: .number(70), tokenMark: 71, time: nil, at: now)
        if isRecovering {
            #expect(told == [])
            told = member.answered(.untouched, jitter: 0, at: now)
        }
        guard case .keep(let memory) = try #require(told.first) else {
            Issue.record("not kept: \(told)")
            return
        }
        #expect(memory.isUnpublished)
        #expect(memory.sending == nil)
    }
}
