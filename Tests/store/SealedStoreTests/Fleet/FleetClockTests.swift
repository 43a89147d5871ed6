// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// Hosts agree on when a token ends, however wrong their own clocks are.
struct FleetClockTests {
    let fleet: FleetFixture

    init() throws {
        fleet = try FleetFixture()
    }

    /// A host that booted at its own time, whose wall clock is `error` seconds ahead, `after` seconds after the others.
    static func clock(now: Int64, error: Int64, after: Int64, fraction: Int32 = 0) -> EtcdClockReading {
        EtcdClockReading(
            now: .seconds(now) + .nanoseconds(Int64(fraction)),
            wallTime: WallTime(secondsSince1970: 1_800_000_000 + error + after, fraction: fraction),
            etcdTime: WallTime(secondsSince1970: 1_800_000_000 + after, fraction: fraction)
        )
    }

    @Test(.holds("268"), arguments: [-600, 0, 600] as [Int64], [-600, 0, 600] as [Int64])
    func `wrong wall clocks move no token's end by more than two seconds`(writer: Int64, reader: Int64) throws
    {
        for (after, fraction) in [(0, 0), (0, 999_999_999), (100, 250_000_000), (2_999, 0)]
            as [(Int64, Int32)]
        {
            let host = try fleet.keeper(
                FleetClockTests.clock(now: 10_000, error: writer, after: 0, fraction: 500)
            )
            let values = try host.values(try host.content())
            let clock = FleetClockTests.clock(now: 77, error: reader, after: after, fraction: fraction)
            for other in [try fleet.keeper(clock), try fleet.reader(clock)] {
                let snapshot = try #require(try other.open(values).content).snapshot
                let left = try #require(snapshot.tokens[.primary]?.expiresAt) - clock.now
                let expected = Duration.seconds(3_000 - after) - .nanoseconds(Int64(fraction))
                // Never later than it is.
                #expect(left <= expected && left >= expected - .seconds(2))
                #expect(try #require(snapshot.tokens[.primary]?.lifetime) == .seconds(3_600))
            }
        }
    }

    @Test func `times that are shown are in the clock of the host that shows them`() throws {
        let host = try fleet.keeper(FleetClockTests.clock(now: 10_000, error: -600, after: 0))
        var content = try host.content()
        content.snapshot.standing = .ended(.grantDead, quarantinedUntil: host.clock.wallTime + .seconds(500))
        content.snapshot.refreshExpiresAt = host.clock.wallTime + .seconds(900)
        let values = try host.values(content, .example.with(.dead(.grantDead)))
        let clock = FleetClockTests.clock(now: 77, error: 600, after: 50)
        let snapshot = try #require(try fleet.keeper(clock).open(values).content).snapshot
        #expect(clock.wallTime - snapshot.loggedInAt == .seconds(1_050))
        #expect(snapshot.refreshExpiresAt == clock.wallTime + .seconds(850))
        #expect(
            snapshot.standing == .ended(.grantDead, quarantinedUntil: clock.wallTime + .seconds(450))
        )
    }

    @Test func `a host whose idea of etcd's time is behind counts from when it reads`() throws {
        let host = try fleet.keeper(FleetClockTests.clock(now: 10_000, error: 0, after: 600))
        let values = try host.values(try host.content())
        let clock = FleetClockTests.clock(now: 77, error: 0, after: 0)
        let snapshot = try #require(try fleet.keeper(clock).open(values).content).snapshot
        let left = try #require(snapshot.tokens[.primary]?.expiresAt) - clock.now
        #expect(left == .seconds(2_999))
    }

    @Test func `a record from the future is taken for one whose tokens have ended`() throws {
        let host = try fleet.keeper(FleetClockTests.clock(now: 10_000, error: 0, after: 601))
        let values = try host.values(try host.content())
        let clock = FleetClockTests.clock(now: 77, error: 0, after: 0)
        let snapshot = try #require(try fleet.keeper(clock).open(values).content).snapshot
        #expect(snapshot.tokens[.primary]?.expiresAt == clock.now)
    }

    /// As after a virtual machine was restored twice from one snapshot.
    @Test func `machines of one boot are not taken for one another`() throws {
        let host = try fleet.keeper(FleetClockTests.clock(now: 10_000, error: 0, after: 0))
        let values = try host.values(try host.content())
        let clock = FleetClockTests.clock(now: 10_000, error: 0, after: 1_000)
        let snapshot = try #require(try fleet.keeper(clock).open(values).content).snapshot
        #expect(try #require(snapshot.tokens[.primary]?.expiresAt) - clock.now == .seconds(1_999))
    }

    @Test func `a token without end has none elsewhere`() throws {
        let host = try fleet.keeper()
        var content = try host.content()
        content.snapshot.tokens[.primary]?.expiresAt = nil
        let opened = try fleet.reader().open(try host.values(content))
        let token = try #require(opened.content?.snapshot.tokens[.primary])
        #expect(token.expiresAt == nil)
    }
}
