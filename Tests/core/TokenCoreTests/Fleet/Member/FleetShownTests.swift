// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// A host's handling of keys from its watch, without a read of its own.
@Suite struct FleetShownTests {
    private let now = Instant.seconds(1_000)
    private let record = FleetHeader.record()
    private let newer = FleetHeader.record(6)

    private func member(
        answer: StoredRefreshResult? = nil,
        role: FleetRole = .keeper
    ) -> FleetMember {
        FleetMember(.knowing(record, answer: answer), timing: FleetTiming(reuse: .refused), role: role)
    }

    @Test func `a newer record is adopted without a look`() {
        var member = member()
        let told = member.shown(.showing(newer), at: now)
        #expect(told.count == 1)
        #expect(member.kept(at: now) == [.adopt(newer)])
        #expect(member.memory.record == newer)
        #expect(member.memory.place == FleetRevision(cluster: 1, revision: 100))
        #expect(member.wakeTime == nil)
    }

    @Test func `what is older than what is known changes nothing`() {
        var member = member()
        #expect(member.shown(.showing(newer, revision: 89), at: now) == [])
        #expect(member == self.member())
    }

    @Test func `another cluster is looked at`() {
        var member = member()
        #expect(member.shown(.showing(newer, cluster: 2), at: now) == [.look])
        var new = FleetMember(FleetPersistentState(), timing: FleetTiming(reuse: .refused))
        #expect(new.shown(.showing(newer), at: now) == [.look])
    }

    @Test(
        arguments: [
            // A record to restore, one to mark, and a late response to adopt or to erase.
            FleetSnapshot.showing(.record(4)),
            .showing(.record(5, cluster: 2)),
            .showing(.record(), lateResults: [.late(parent: 5)]),
            .showing(.record(), lateResults: [.late(parent: 1)]),
        ]
    )
    func `whatever has to be written is decided on a look`(view: FleetSnapshot) {
        var member = FleetMember(.knowing(view.record), timing: FleetTiming(reuse: .refused))
        if view.record?.generation == 4 { member = self.member() }
        #expect(member.shown(view, at: now) == [.look])
    }

    @Test func `a host with an answer of its own looks`() {
        let answer = StoredRefreshResult(parent: record, intent: .attempt(60), tokenMark: 60, cluster: 1)
        var member = member(answer: answer)
        #expect(member.shown(.showing(newer), at: now) == [.look])
    }

    @Test func `a host that waits hears of the lock's end, and looks when its turn has come`() {
        var member = member()
        _ = member.refreshWanted(as: AttemptID(host: 1, random: 1 << 63), expiry: nil, at: now)
        _ = member.looked(.showing(record, .attempt(50), lock: 50), at: now)
        #expect(member.shown(.showing(record, revision: 101), at: now) == [])
        #expect(member.wakeTime == now + .seconds(1))
        #expect(member.timeReached(now + .seconds(1)) == [.look])
        // The same applies to the first host in the queue.
        var first = self.member()
        _ = first.refreshWanted(as: .number(60), expiry: nil, at: now)
        _ = first.looked(.showing(record, .attempt(50), lock: 50), at: now)
        #expect(first.shown(.showing(record, revision: 101), at: now) == [.look])
        #expect(first.looked(.showing(record, revision: 101), at: now) == [.grantLease(.seconds(30))])
    }

    @Test func `a look that shows what the watch had shown is enough`() {
        for (revision, told) in [(Int64(100), [FleetAction.look]), (101, [])] {
            var member = member()
            _ = member.changed(at: now)
            #expect(member.shown(.showing(record, revision: 101), at: now) == [])
            #expect(member.looked(.showing(record, revision: revision), at: now) == told)
        }
    }

    @Test func `what has come up while the record went to the disk is looked at`() {
        var member = member()
        _ = member.shown(.showing(newer), at: now)
        _ = member.shown(.showing(newer, revision: 101), at: now)
        #expect(member.kept(at: now) == [.adopt(newer), .look])
    }

    @Test func `a reader does not ask again for what it has asked for`() {
        var member = member(role: .reader)
        _ = member.refreshWanted(as: .number(60), expiry: nil, at: now)
        _ = member.looked(.showing(record), at: now)
        var view = FleetSnapshot.showing(record, revision: 101)
        view.wanted = 5
        #expect(member.shown(view, at: now) == [])
        view = .showing(record, revision: 102)
        #expect(member.shown(view, at: now) == [.ask(generation: 5)])
    }
}
