// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// A login that ends by itself, as one of its hosts finds.
@Suite struct FleetEndTests {
    private let now = Instant.seconds(1_000)
    private let record = FleetHeader.record()

    /// A host that has kept that the login of `record` ended, and looks.
    private func ended(_ reason: EndReason) -> FleetMember {
        var member = FleetMember(.knowing(record), timing: FleetTiming(reuse: .refused))
        _ = member.ended(reason, at: now)
        #expect(member.kept(at: now) == [.look])
        return member
    }

    @Test func `it is durable here before it is written over the record that ended`() {
        var member = ended(.sessionTooOld)
        let dead = record.refused(.sessionTooOld)
        let write = FleetTransaction(if: [.record(record)], then: [.putRecord(dead), .deleteIntent])
        #expect(member.looked(.showing(record), at: now) == [.transact(write)])
        _ = member.transacted(true, FleetPlace(cluster: 1, revision: 101), at: now)
        #expect(member.kept(at: now) == [.finishNews(.done(dead)), .look])
    }

    @Test func `another host's record wins, and the same end is one`() {
        let dead = record.refused(.sessionTooOld)
        let rows: [(FleetHeader, [FleetAction])] = [
            (.record(6), [.adopt(.record(6)), .finishNews(.superseded(by: .record(6))), .look]),
            (
                .record(0, login: 2),
                [.adopt(.record(0, login: 2)), .finishNews(.superseded(by: .record(0, login: 2))), .look]
            ),
            (
                record.loggedOut(),
                [.adopt(record.loggedOut()), .finishNews(.done(record.loggedOut())), .look]
            ),
            (dead, [.finishNews(.done(dead)), .look]),
        ]
        for (found, told) in rows {
            var member = ended(.sessionTooOld)
            _ = member.looked(.showing(found), at: now)
            #expect(member.kept(at: now) == told)
            #expect(member.memory.record == found && !member.memory.isNews)
        }
    }

    @Test func `a record that comes while the end is on its way wins too`() {
        var member = FleetMember(.knowing(record), timing: FleetTiming(reuse: .refused))
        _ = member.changed(at: now)
        #expect(member.ended(.refreshTokenExpired, at: now) == [])
        _ = member.looked(.showing(.record(6)), at: now)
        let told = member.kept(at: now)
        #expect(told == [.adopt(.record(6)), .finishNews(.superseded(by: .record(6))), .look])
    }

    @Test func `a late answer rescues a login whose token expired, and none that is too old`() {
        let late = LateAnswer.late(parent: 5)
        #expect(FleetLateness(of: late, beside: record.refused(.refreshTokenExpired)) == .adopt)
        #expect(FleetLateness(of: late, beside: record.refused(.sessionTooOld)) == .erase)
        let answer = FleetAnswerKept(parent: record, intent: .attempt(60), tokenMark: 60, cluster: 1)
        let rows: [(EndReason, FleetSettlement)] = [
            (.refreshTokenExpired, .place), (.sessionTooOld, .forget),
        ]
        for (reason, settlement) in rows {
            let dead = record.refused(reason)
            let found = FleetSettlement(of: answer, in: .knowing(dead, answer: answer), .showing(dead))
            #expect(found == settlement)
            let unwritten = FleetMemory.knowing(dead, isNews: true, answer: answer)
            #expect(FleetSettlement(of: answer, in: unwritten, .showing(record)) == .afterWriting)
        }
    }

    @Test func `who writes nothing, or knows no login, ends nothing in the fleet`() {
        var reader = FleetMember(.knowing(record), timing: FleetTiming(reuse: .refused), role: .reader)
        var out = FleetMember(.knowing(.record(6, .out)), timing: FleetTiming(reuse: .refused))
        #expect(reader.ended(.sessionTooOld, at: now) == [])
        #expect(out.ended(.sessionTooOld, at: now) == [])
    }
}
