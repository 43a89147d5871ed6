// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

/// A fleet and the events that may happen to it.
struct FleetScope: CustomTestStringConvertible {
    var habit: Habit
    var hosts: Int
    var budget: FleetWorld.Budget
    var confirmations: Int
    var isPrompt: Bool
    var isOneSecond: Bool
    var isShown: Bool
    var hasTurns: Bool
    /// The moves made before the exploration.
    var past: [FleetMove]

    var testDescription: String { "\(habit), \(hosts) hosts, \(budget)" }

    init(
        _ habit: Habit,
        hosts: Int = 2,
        confirmations: Int = 0,
        isPrompt: Bool = false,
        isOneSecond: Bool = false,
        isShown: Bool = false,
        hasTurns: Bool = false,
        after past: [FleetMove] = [],
        _ budget: FleetWorld.Budget
    ) {
        self.habit = habit
        self.hosts = hosts
        self.confirmations = confirmations
        self.isPrompt = isPrompt
        self.isOneSecond = isOneSecond
        self.isShown = isShown
        self.hasTurns = hasTurns
        self.past = past
        self.budget = budget
    }

    /// Returns the world in which the exploration begins.
    func world(fault: Fault? = nil) -> FleetWorld {
        var world = FleetWorld(habit, hosts: hosts, budget, fault: fault, confirmations: confirmations)
        world.isPrompt = isPrompt
        world.isOneSecond = isOneSecond
        world.isShown = isShown
        world.hasTurns = hasTurns
        for move in past {
            #expect(world.moves().contains(move), "\(move) cannot happen")
            world = world.after(move)
        }
        return world
    }

    /// Explores the scope until it finds a violation that begins with `harm`.
    func explored(fault: Fault? = nil, until harm: String? = nil) async throws -> FleetExplorer {
        let world = world(fault: fault)
        return try await onOwnThread { FleetExplorer(world, until: harm) }
    }
}

extension [FleetMove] {
    /// The first host refreshes and has the response, which is not yet on its disk.
    static let answered: [FleetMove] = [.due, .want(0), .transact(0, .answered), .send(0), .serve(0)]
    /// The moves of ``answered``.
    ///
    /// Then the first host pauses, and another host refreshes within the grace period.
    static let answeredTwice: [FleetMove] =
        answered + [
            .timePasses, .leaseEnds, .keep(0), .want(1), .transact(1, .answered), .transact(0, .answered),
            .send(1), .serve(1),
        ]
    /// The first host crashes with its response, shortly before the end of the grace period.
    static let crashed: [FleetMove] =
        answered + [.crash(0, isWritten: true), .timePasses, .timePasses, .leaseEnds]
}
