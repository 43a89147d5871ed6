// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// Rejections that need a confirmation, the host that confirms them, and the time when they are final.
@Suite struct FleetRefusalTests {
    private let now = Instant.seconds(1_000)
    private let record = FleetHeader.record()
    private let place = FleetRevision(cluster: 1, revision: 101)

    /// A host that has sent the refresh token of `record`, as attempt 60.
    private func granted() -> FleetMember {
        var member = FleetMember(.knowing(record), timing: FleetTiming(reuse: .refused))
        _ = member.refreshWanted(as: .number(60), expiry: nil, at: now)
        _ = member.looked(.showing(record), at: now)
        _ = member.leaseGranted(.seconds(30), place, at: now)
        _ = member.transacted(true, place, at: now)
        return member
    }

    /// Has attempt 61 of `member` rejected, 30 s after attempt 60, and returns the last action.
    private func refusedAgain(_ member: FleetMember, confirmations: Int = 1) -> FleetAction? {
        var member = member
        let later = now + .seconds(30)
        let view = FleetSnapshot.showing(record, .attempt(60, age: 30).refused, revision: 101)
        #expect(member.refreshWanted(as: .number(61), expiry: nil, at: later) == [.look])
        #expect(member.looked(view, at: later) == [.grantLease(.seconds(30))])
        _ = member.leaseGranted(.seconds(30), place, at: later)
        _ = member.transacted(true, FleetRevision(cluster: 1, revision: 102), at: later)
        return member.answered(.refused(.grantDead, confirmations: confirmations), jitter: 0, at: later).last
    }

    @Test func `a refusal that needs one is confirmed by whoever comes first, this host or another`() {
        var member = granted()
        let told = member.answered(.refused(.grantDead, confirmations: 1), jitter: 0, at: now)
        let doubt = FleetTransaction(
            if: [.intent(.attempt(60))],
            then: [.putIntent(.attempt(60).refused), .deleteLock]
        )
        #expect(told == [.postpone(.number(60), until: now + .seconds(30)), .transact(doubt)])
        _ = member.transacted(true, place, at: now)
        _ = member.looked(.showing(record, .attempt(60).refused, revision: 101), at: now)
        let other = FleetMember(.knowing(record), timing: FleetTiming(reuse: .refused))
        // No response is missing, because the server has rejected both attempts.
        let declare = FleetTransaction(
            if: [
                .record(record), .intent(.attempt(61, first: 30, before: [60])),
                .noLate(record.lineage, parent: 5),
            ],
            then: [
                .putRecord(.record(6, attempt: 50, .dead(.grantDead), proven: 4)), .deleteIntent, .deleteLock,
            ]
        )
        for host in [member, other] {
            #expect(refusedAgain(host) == .transact(declare))
        }
    }

    @Test func `a refusal that needs two is not believed for one, and the next host has two`() {
        let other = FleetMember(.knowing(record), timing: FleetTiming(reuse: .refused))
        let intent = FleetIntent.attempt(61, first: 30, before: [60])
        let doubt = FleetTransaction(
            if: [.intent(intent)],
            then: [.putIntent(intent.refused), .deleteLock]
        )
        #expect(refusedAgain(other, confirmations: 2) == .transact(doubt))
    }

    @Test func `that a refusal was noted is not taken for granted`() {
        var member = granted()
        _ = member.answered(.refused(.grantDead, confirmations: 1), jitter: 0, at: now)
        #expect(member.transactionUnanswered(at: now) == [.look])
        var again = member
        let told = again.looked(.showing(record, .attempt(60), lock: 60, revision: 101), at: now)
        guard case .transact(let doubt) = told.first else {
            Issue.record("nothing is noted: \(told)")
            return
        }
        #expect(doubt.changes == [.putIntent(.attempt(60).refused), .deleteLock])
        // The rejection is recorded, or another host has taken over.
        for intent in [FleetIntent.attempt(60).refused, .attempt(61, before: [60])] {
            var noted = member
            #expect(noted.looked(.showing(record, intent, revision: 102), at: now) == [])
            #expect(noted.hold == nil)
        }
    }
}
