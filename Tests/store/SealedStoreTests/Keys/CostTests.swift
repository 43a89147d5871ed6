// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// Measurements of the store.
///
/// Only bounds that every machine should meet are asserted.
@Suite(.serialized)
struct CostTests {
    /// A store on a disk, where its costs matter.
    let fixture = StoreFixture(.fresh)

    @Test func `thousands of sessions are read within seconds`() throws {
        let files = FaultyFiles()
        let (first, _) = try fixture.unlocked(files)
        files.arm(.unflushed)
        let access = String(repeating: "a", count: 1200)
        // Ten thousand take a thread for ten seconds.
        let (many, limit): (Int, Duration) =
            TestEnvironment.isFull ? (10_000, .seconds(10)) : (2_000, .seconds(5))
        for number in 0..<many {
            let snapshot = try first.snapshot(refreshToken: "RT-\(number)", accessToken: access)
            #expect(first.store.commit(.named("s\(number)"), snapshot) == .durable)
        }
        first.store.close()

        let second = try fixture.open()
        var count = 0
        let duration = try ContinuousClock().measure {
            count = try second.store.unlockAutomatically().sessions.count
        }
        print("\(many) sessions read in \(duration)")
        #expect(count == many)
        #expect(duration < limit)
    }

    @Test func `a durable refresh costs milliseconds`() throws {
        let (open, _) = try fixture.unlocked()
        let access = String(repeating: "a", count: 1200)
        let snapshots = try (0..<100).map { try open.snapshot(refreshToken: "RT-\($0)", accessToken: access) }
        #expect(open.store.commit(.work, snapshots[0]) == .durable)
        var durations: [Duration] = []
        for (old, new) in zip(snapshots, snapshots.dropFirst()) {
            durations.append(
                try ContinuousClock().measure {
                    try open.store.reserve(.work, old)
                    #expect(open.store.commit(.work, new) == .durable)
                }
            )
        }
        durations.sort()
        print("reserve and commit: median \(durations[durations.count / 2]), 99 % \(durations[98])")
        #expect(durations[durations.count / 2] < .milliseconds(100))
    }
}
