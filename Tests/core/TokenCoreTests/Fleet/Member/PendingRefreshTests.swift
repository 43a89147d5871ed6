// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// Pending refreshes of a session while the record changes.
@Suite struct PendingRefreshTests {
    private let now = Instant.seconds(1_000)
    private let record = FleetHeader.record()
    private let outdated = StorageFailure(message: "the login has changed")

    private func member(answer: StoredRefreshResult? = nil) -> FleetMember {
        FleetMember(.knowing(record, answer: answer), timing: FleetTiming(reuse: .refused))
    }

    @Test func `a wish made while another record goes to the disk is answered by that record`() {
        var member = member()
        let newer = FleetHeader.record(6)
        _ = member.changed(at: now)
        #expect(member.looked(.showing(newer), at: now).count == 1)
        #expect(member.refreshWanted(as: .number(60), expiry: nil, at: now) == [])
        #expect(member.kept(at: now) == [.adopt(newer), .look])
        // The fresh token is not refreshed.
        #expect(member.looked(.showing(newer), at: now) == [])
    }

    @Test func `a host that has just started waits to the end of the token like any other`() {
        var member = member()
        let expiry = now + .seconds(3_000)
        #expect(member.refreshWanted(as: .number(60), expiry: expiry, at: now) == [.look])
        // The intent is older than the timeout of a host without a token, and etcd is read for the first time.
        let actions = member.looked(.showing(record, .attempt(61, age: 500)), at: now + .seconds(2))
        guard case .postpone(.number(60), let time)? = actions.first else {
            Issue.record("\(actions)")
            return
        }
        #expect(time >= expiry + FleetTiming.defaultTakeoverTimeout, "\(time)")
    }

    @Test func `a wish made while a login goes to the disk, or to etcd, is refused`() throws {
        var member = member()
        let login = member.loggedIn(7, as: .number(70), tokenMark: 70, time: nil, at: now)
        guard case .keep(let memory) = try #require(login.first) else {
            Issue.record("not kept: \(login)")
            return
        }
        _ = member.refreshWanted(as: .number(60), expiry: nil, at: now)
        #expect(member.kept(at: now) == [.refuse(.number(60), outdated), .look])
        _ = member.looked(.showing(record), at: now)
        _ = member.refreshWanted(as: .number(61), expiry: nil, at: now)
        _ = member.transacted(true, FleetRevision(cluster: 1, revision: 101), at: now)
        let header = try #require(memory.record)
        #expect(
            member.kept(at: now) == [
                .finishNews(header, .done(header)), .refuse(.number(61), outdated), .look,
            ]
        )
    }

    @Test func `a login answers the wish that was there before it`() {
        var member = member()
        _ = member.refreshWanted(as: .number(60), expiry: nil, at: now)
        let told = member.loggedIn(7, as: .number(70), tokenMark: 70, time: nil, at: now)
        #expect(told == [.refuse(.number(60), outdated)])
    }

    @Test func `a wish for other tokens than those just obtained outlives their commit`() {
        let answer = StoredRefreshResult(parent: record, intent: .attempt(60), tokenMark: 60, cluster: 1)
        var member = member(answer: answer)
        _ = member.started(at: now)
        _ = member.looked(.showing(record, .attempt(60)), at: now)
        _ = member.refreshWanted(as: .number(61), expiry: nil, at: now)
        let place = FleetRevision(cluster: 1, revision: 101)
        _ = member.transacted(true, place, at: now)
        #expect(member.kept(at: now) == [.look])
        let next = FleetHeader.record(6, attempt: 60, proven: 5)
        #expect(member.looked(.showing(next, revision: 101), at: now) == [.grantLease(.seconds(30))])
    }

    @Test func `a session gets tokens back that were laid aside and became the record after all`() {
        var answer = StoredRefreshResult(parent: record, intent: .attempt(60), tokenMark: 60, cluster: 1)
        answer.placedIn = 1
        var member = member(answer: answer)
        _ = member.started(at: now)
        _ = member.looked(.showing(record, .attempt(60), lateResults: [answer.late]), at: now)
        _ = member.transacted(true, FleetRevision(cluster: 1, revision: 101), at: now)
        let next = FleetHeader.record(6, attempt: 60, proven: 5)
        #expect(member.kept(at: now) == [.adopt(next), .look])
    }

    @Test func `a reader waits no longer than it makes sense, and hears why the keepers wait`() {
        let expiry = now + .seconds(100)
        var member = FleetMember(.knowing(record), timing: FleetTiming(reuse: .refused), role: .reader)
        _ = member.refreshWanted(as: .number(60), expiry: expiry, at: now)
        // A keeper is refreshing.
        let held = member.looked(.showing(record, .attempt(50), lock: 50), at: now)
        #expect(held == [.hold(.number(60)), .ask(generation: 5)])
        let view = FleetSnapshot.showing(record, .attempt(50), revision: 101)
        let told = member.shown(view, at: now)
        #expect(told.first == .ask(generation: 5))
        guard case .postpone(.number(60), let until)? = told.last else {
            Issue.record("it is not told to wait: \(told)")
            return
        }
        #expect(until >= expiry + member.timing.takeoverTimeout)
        #expect(until <= expiry + member.timing.takeoverTimeout * 2)
        #expect(view.reasonToWait(at: 2).contains("waiting for the response to another host's refresh"))
        #expect(member.pendingRefresh == nil && member.isAtRest)
    }
}
