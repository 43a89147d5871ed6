// SPDX-License-Identifier: MIT

import Testing
import TokenCore

@testable import SealedStore

/// When a step is taken, and what follows from what the counter says.
struct CounterIncrementScheduleTests {
    /// A standing after the step that follows each unlocking.
    private func settled(_ counter: UInt64 = 7, at now: Instant = .seconds(0)) -> CounterIncrementSchedule {
        var standing = CounterIncrementSchedule(counter: counter - 1, stored: counter - 1)
        standing.wrote(standing.value(announcing: true))
        #expect(standing.heard(counter, moving: true, at: now) == nil)
        return standing
    }

    @Test func `an opened store takes a step at once`() {
        let standing = CounterIncrementSchedule(counter: 7, stored: 7)
        #expect(standing.delay(at: .seconds(5), isOpen: true) == .zero)
        #expect(standing.value(announcing: true) == 8)
        #expect(standing.value(announcing: false) == 7)
    }

    @Test func `a store that says nothing is written with the next value`() {
        var standing = CounterIncrementSchedule(counter: 7, stored: nil)
        #expect(standing.needsManifest)
        #expect(standing.value(announcing: false) == 8)
        standing.wrote(8)
        #expect(standing.isAnnounced && !standing.needsManifest)
    }

    @Test func `nothing is done while nothing changes`() {
        #expect(settled().delay(at: .seconds(100_000), isOpen: true) == nil)
    }

    @Test func `refreshes are covered within ten minutes of the last step`() {
        var standing = settled()
        standing.wrote(standing.value(announcing: false))
        #expect(standing.delay(at: .seconds(100), isOpen: true) == .seconds(500))
        #expect(standing.delay(at: .seconds(700), isOpen: true) == .zero)
    }

    @Test func `a logout is covered at once`() {
        var standing = settled()
        standing.requestStep()
        #expect(standing.delay(at: .seconds(100), isOpen: true) == .zero)
        standing.wrote(standing.value(announcing: true))
        #expect(standing.heard(8, moving: true, at: .seconds(100)) == nil)
        #expect(standing.delay(at: .seconds(100), isOpen: true) == nil)
    }

    @Test func `an announced value is never passed before the counter is there`() {
        var standing = settled()
        standing.wrote(standing.value(announcing: true))
        standing.requestStep()
        #expect(standing.value(announcing: true) == 8)
        standing.wrote(8)
        #expect(standing.heard(8, moving: true, at: .seconds(1)) == nil)
        // What was written after the announcement is not covered by it.
        #expect(standing.delay(at: .seconds(1), isOpen: true) == .zero)
        #expect(standing.value(announcing: true) == 9)
    }

    @Test func `a locked store only finishes what is announced`() {
        var standing = settled()
        standing.requestStep()
        #expect(standing.delay(at: .seconds(1), isOpen: false) == nil)
        standing.wrote(8)
        #expect(standing.delay(at: .seconds(1), isOpen: false) == .zero)
    }

    @Test func `a program that fails is asked again after a minute, then less often`() {
        var standing = settled()
        standing.wrote(standing.value(announcing: true))
        var pauses: [Duration?] = []
        for _ in 0..<9 {
            standing.failed(at: .seconds(50))
            pauses.append(standing.delay(at: .seconds(50), isOpen: true))
        }
        #expect(pauses == [60, 120, 240, 480, 960, 1920, 3840, 3840, 3840].map { .seconds($0) })
        #expect(standing.isUncertain)
        // It had moved in spite of its failure.
        #expect(standing.heard(8, moving: false, at: .seconds(60)) == nil)
        #expect(!standing.isAnnounced && standing.delay(at: .seconds(60), isOpen: true) == nil)
    }

    @Test func `after a failure the counter is read, then moved`() {
        var standing = settled()
        standing.wrote(standing.value(announcing: true))
        standing.failed(at: .seconds(0))
        #expect(standing.heard(7, moving: false, at: .seconds(60)) == nil)
        #expect(!standing.isUncertain && standing.isAnnounced)
        #expect(standing.delay(at: .seconds(60), isOpen: true) == .zero)
        #expect(standing.heard(8, moving: true, at: .seconds(60)) == nil)
        #expect(standing.failures == 0)
    }

    @Test(arguments: [0, 3, 7])
    func `a counter that does not count is said to be wrong`(value: UInt64) {
        var standing = settled()
        standing.wrote(standing.value(announcing: true))
        #expect(standing.heard(value, moving: true, at: .seconds(0))?.contains("does not count") == true)
        #expect(standing.counter == 7 && standing.failures == 1)
    }

    @Test func `a counter that others move is followed, and said to be shared`() {
        var standing = settled()
        standing.wrote(standing.value(announcing: true))
        #expect(standing.heard(12, moving: true, at: .seconds(0))?.contains("another program") == true)
        #expect(standing.needsManifest)
        #expect(standing.delay(at: .seconds(0), isOpen: true) == .zero)
        standing.wrote(standing.value(announcing: false))
        #expect(standing.stored == 12 && !standing.needsManifest)
    }

    @Test func `the first step of a counter may be longer`() {
        var standing = CounterIncrementSchedule(counter: 0, stored: nil)
        standing.wrote(standing.value(announcing: true))
        #expect(standing.heard(41, moving: true, at: .seconds(0)) == nil)
        #expect(standing.needsManifest)
    }
}
