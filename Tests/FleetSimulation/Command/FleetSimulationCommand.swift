// SPDX-License-Identifier: MIT

import FleetSimulation
import Glibc

/// Simulates a fleet and prints what it costs etcd.
///
/// `fleet-simulation [--hosts N] [--sessions N] [--scenario NAME] …`: a figure a line.
/// `fleet-simulation --curve …`: a table over sizes, each as the options say otherwise.
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
