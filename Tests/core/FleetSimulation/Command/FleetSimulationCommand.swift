// SPDX-License-Identifier: MIT

import FleetSimulation
import Glibc

/// A program that simulates a fleet and prints its load on etcd.
///
/// `fleet-simulation [--hosts N] [--sessions N] [--scenario NAME] …` prints one figure per line.
/// `fleet-simulation --curve …` prints a table over numbers of hosts and sessions, each with the other
/// options as given.
///
/// - Entry points: ``main()``; ``FleetFigures`` for tests.
/// - May not: contact an etcd or any other server. The costs of etcd are measured constants (``EtcdCosts``).
@main
enum FleetSimulationCommand {
    static func main() {
        guard let order = SimulationOrder(CommandLine.arguments.dropFirst()) else {
            print(SimulationOrder.usage, terminator: "")
            exit(64)
        }
        guard order.isCurve else {
            for line in FleetFigures(order.plan, order.scenario).lines { print(line) }
            return
        }
        print("| Hosts | Sessions | \(FleetFigures.head)")
        print("|" + String(repeating: " --- |", count: 13))
        for hosts in [10, 100, 1_000, 10_000] {
            for sessions in [1, 10, 100] {
                var plan = order.plan
                (plan.hosts, plan.sessions) = (hosts, sessions)
                print("| \(hosts) | \(sessions) | \(FleetFigures(plan, order.scenario).row)")
                fflush(nil)
            }
        }
    }
}
