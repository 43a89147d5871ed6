// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

/// Deeper than the explorer gets: many faults, one way through them each.
@Suite struct FleetWalkTests {
    @Test(.holds("261"), arguments: Habit.allCases, 1...(TestEnvironment.isFull ? 200 : 8))
    func `no long chain of faults does harm, and it ends in rest`(habit: Habit, seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        var world = FleetWorld(habit, hosts: 3, Self.budget(seed), confirmations: seed % 2)
        var past: [FleetMove] = []
        for _ in 0..<400 {
            guard let move = world.moves().randomElement(using: &generator) else { break }
            past.append(move)
            world = world.after(move)
            guard world.violation == nil else { break }
        }
        #expect(world.violation == nil, "\(past)")
        world.budget = FleetWorld.Budget(slow: 1_000)
        for _ in 0..<4_000 where world.unrest != nil {
            let ways = world.moves().filter {
                if case .timePasses = $0 { true } else { !$0.isFault(in: world) }
            }
            guard let move = ways.randomElement(using: &generator) else { break }
            world = world.after(move)
        }
        #expect(world.unrest == nil, "\(past)")
    }

    /// Many faults of a few kinds at a time.
    private static func budget(_ seed: Int) -> FleetWorld.Budget {
        var budget = FleetWorld.Budget(due: 4, slow: 2, lost: 2, busy: 1)
        if seed % 2 == 0 { budget.crash = 3 }
        if seed % 3 == 0 { budget.kill = 3 }
        if seed % 3 == 0 { budget.unanswered = 4 }
        if seed % 4 == 0 { budget.restore = 1 }
        if seed % 5 == 0 { budget.gone = 1 }
        if seed % 2 == 1 { budget.lag = 1 }
        if seed % 3 == 2 { budget.tardy = 3 }
        if seed % 3 == 1 { (budget.login, budget.logout) = (2, 1) }
        return budget
    }
}
