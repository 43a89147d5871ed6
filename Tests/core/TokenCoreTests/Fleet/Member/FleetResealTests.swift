// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// A host that has a newer key than the record is sealed under.
@Suite struct FleetResealTests {
    private let now = Instant.seconds(1_000)
    private let record = FleetHeader.record()
    private let place = FleetRevision(cluster: 1, revision: 101)

    private func wanting() -> FleetMember {
        var member = FleetMember(.knowing(record), timing: FleetTiming(reuse: .refused))
        #expect(member.resealWanted(at: now) == [.look])
        return member
    }

    @Test(arguments: [true, false])
    func `the same record is written once, whether or not another host was first`(isDone: Bool) {
        var member = wanting()
        let reseal = FleetTransaction(
            if: [.record(record), .intent(nil), .lock(nil)],
            then: [.putRecord(record)]
        )
        #expect(member.looked(.showing(record), at: now) == [.transact(reseal)])
        #expect(member.transacted(isDone, place, at: now) == [.look])
        #expect(member.looked(.showing(record, revision: 101), at: now) == [])
        #expect(member.memory.record == record)
    }

    @Test func `an intent is written again with it`() {
        var member = wanting()
        let intent = FleetIntent.attempt(60)
        let reseal = FleetTransaction(
            if: [.record(record), .intent(intent), .lock(nil)],
            then: [.putRecord(record), .putIntent(intent)]
        )
        #expect(member.looked(.showing(record, intent), at: now) == [.transact(reseal)])
        #expect(member.transacted(true, place, at: now) == [.look])
    }

    @Test func `it is written again if nobody knows whether it was`() {
        var member = wanting()
        _ = member.looked(.showing(record), at: now)
        #expect(member.transactionUnanswered(at: now) == [.look])
        #expect(member.looked(.showing(record), at: now).count == 1)
    }

    @Test func `what etcd declines again, although it shows that it could, is tried later`() {
        let own = FleetHeader.record(6)
        var member = FleetMember(.knowing(own), timing: FleetTiming(reuse: .accepted))
        #expect(member.changed(at: now) == [.look])
        for answer in [[FleetAction.look], []] {
            #expect(member.looked(.showing(record, revision: 101), at: now).count == 1)
            #expect(member.transacted(false, place, at: now) == answer)
        }
        #expect(member.wakeTime.map { $0 > now } == true)
    }

    @Test func `tokens that the host does not have are taken over with the record that it knows`() {
        var member = FleetMember(.knowing(record), timing: FleetTiming(reuse: .refused))
        #expect(member.tokensMissed(at: now).count == 1)
        #expect(member.kept(at: now) == [.adopt(record), .look])
        #expect(member.tokensMissed(at: now) == [])
    }

    @Test func `whoever has the lock is waited for, and another record needs nothing`() {
        var member = wanting()
        #expect(member.looked(.showing(record, .attempt(60), lock: 60), at: now) == [])
        var free = member
        #expect(free.changed(at: now) == [.look])
        #expect(free.looked(.showing(record, .attempt(60)), at: now).count == 1)
        _ = member.changed(at: now)
        _ = member.looked(.showing(.record(6)), at: now)
        #expect(member.kept(at: now) == [.adopt(.record(6)), .look])
        #expect(member.looked(.showing(.record(6)), at: now) == [])
        #expect(member.outsealed == nil)
    }
}
