// SPDX-License-Identifier: MIT

import NIOCore
import NIOEmbedded
import Testing

@testable import AgentServer

/// When the agent looks after itself.
struct HousekeepingTests {
    private final class House {
        let loop = EmbeddedEventLoop()
        var isAtRest = false
        private(set) var rounds = 0
        private(set) lazy var housekeeping = Housekeeping(on: loop) { [unowned self] in
            rounds += 1
            return isAtRest
        }

        func pass(_ seconds: Int64) -> Int {
            let before = rounds
            loop.advanceTime(by: .seconds(seconds))
            return rounds - before
        }
    }

    @Test func `an agent that works is looked after twice a minute`() {
        let house = House()
        house.housekeeping.begin()
        #expect(house.pass(29) == 0)
        #expect(house.pass(1) == 1)
        #expect(house.pass(600) == 20)
    }

    @Test func `an agent at rest is woken once a minute`() {
        let house = House()
        house.isAtRest = true
        house.housekeeping.begin()
        #expect(house.pass(30) == 1)
        #expect(house.pass(59) == 0)
        #expect(house.pass(1) == 1)
        #expect(house.pass(600) == 10)
    }

    @Test func `a connection that ends the rest is looked at after half a minute`() {
        let house = House()
        house.isAtRest = true
        house.housekeeping.begin()
        #expect(house.pass(40) == 1)
        for _ in 0..<3 { house.housekeeping.runSoon() }
        house.isAtRest = false
        #expect(house.pass(29) == 0)
        #expect(house.pass(1) == 1)
        #expect(house.pass(60) == 2)
        // A short pause does not start again, even if many connections come and go.
        for _ in 0..<6 {
            _ = house.pass(5)
            house.housekeeping.runSoon()
        }
        #expect(house.rounds == 5)
    }
}
