// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// Hosts that would all do the same at one moment come one after the other.
@Suite struct FleetTurnTests {
    private let now = Instant.seconds(1_000)
    private let record = FleetHeader.record()

    /// An attempt that has drawn the middle.
    private static let middle = AttemptID(host: 1, random: 1 << 63)

    @Test func `hosts that waited for a lock ask for it one after the other`() {
        var member = FleetMember(.knowing(record), timing: FleetTiming(reuse: .refused))
        _ = member.refreshWanted(as: Self.middle, expiry: nil, at: now)
        var (moment, width) = (now, Duration.seconds(2))
        for _ in 0..<6 {
            #expect(member.looked(.showing(record, .attempt(50), lock: 50), at: moment).count <= 1)
            _ = member.changed(at: moment)
            // Released; half of 2, 4, 8, 16, and then of the longest, 30 s.
            #expect(member.looked(.showing(record), at: moment) == [])
            let turn = moment + min(width, .seconds(30)) / 2
            #expect(member.wakeTime == turn)
            // What the watch says meanwhile does not move it.
            _ = member.changed(at: moment)
            #expect(member.looked(.showing(record), at: moment) == [])
            #expect(member.wakeTime == turn)
            (moment, width) = (turn, width * 2)
            #expect(member.timeReached(moment) == [.look])
        }
        #expect(member.looked(.showing(record), at: moment) == [.grantLease(.seconds(30))])
    }

    @Test func `inside a grace turns are short enough for another one`() {
        let timing = FleetTiming(reuse: .acceptedFor(.seconds(30)))
        var member = FleetMember(.knowing(record), timing: timing)
        _ = member.refreshWanted(as: Self.middle, expiry: nil, at: now)
        _ = member.looked(.showing(record, .attempt(50, age: 16), lock: 50), at: now)
        _ = member.changed(at: now)
        #expect(member.looked(.showing(record, .attempt(50, age: 18)), at: now) == [])
        // Three seconds are left, one of which may be over.
        #expect(member.wakeTime == now + .milliseconds(500))
    }

    @Test func `hosts that wait for the same moment come within the quarter of the patience after it`() {
        var member = FleetMember(.knowing(record), timing: FleetTiming(reuse: .refused))
        _ = member.refreshWanted(as: Self.middle, expiry: nil, at: now)
        let told = member.looked(.showing(record, .attempt(50, age: 31)), at: now)
        #expect(told == [.postpone(Self.middle, until: now + .seconds(89 + 15))])
    }
}
