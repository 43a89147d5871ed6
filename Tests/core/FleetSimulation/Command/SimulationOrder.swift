// SPDX-License-Identifier: MIT

import FleetSimulation

/// The options of the command line.
struct SimulationOrder {
    static let usage = """
        usage: fleet-simulation [--curve] [--hosts N] [--sessions N] [--groups N] [--lifetime SECONDS]
                   [--scenario calm|wave|hosts|etcd|partition|keeper] [--etcds N] [--members N] [--cores N]
                   [--authentication none|password|light] [--tokens kept|rotated] [--seed N]
                   [--grace SECONDS] [--response MILLISECONDS] [--log MILLISECONDS]
                   [--conduct present|proposed] [--hearing looks|filtered|carried] [--spreading hosts|sessions|turns]
                   [--watching everything|group] [--reading all|each]

        """

    var plan = FleetPlan()
    var scenario = Scenario.calm
    var isCurve = false

    /// Parses arguments, or returns `nil` if they are not valid.
    init?(_ arguments: ArraySlice<String>) {
        var (rest, options) = (arguments, [(name: String, value: String)]())
        while let name = rest.popFirst() {
            guard name != "--curve" else {
                isCurve = true
                continue
            }
            guard let value = rest.popFirst() else { return nil }
            options.append((name, value))
        }
        // `--conduct` sets several options, so it comes before the options that change one of them.
        let sets = options.filter { $0.name == "--conduct" }
        for option in sets + options.filter({ $0.name != "--conduct" }) {
            guard take(option.name, option.value) else { return nil }
        }
        guard isPossible else { return nil }
    }

    private var isPossible: Bool {
        let counts = [plan.hosts, plan.sessions, plan.etcds, plan.members, plan.cores, plan.groups]
        return counts.allSatisfy { $0 > 0 } && plan.lifetime > 0
            && plan.groups <= min(plan.hosts, plan.sessions)
    }

    private mutating func take(_ name: String, _ value: String) -> Bool {
        switch name {
        case "--hosts": set(&plan.hosts, Int(value))
        case "--sessions": set(&plan.sessions, Int(value))
        case "--groups": set(&plan.groups, Int(value))
        case "--lifetime": set(&plan.lifetime, Int64(value))
        case "--scenario": set(&scenario, Scenario(rawValue: value))
        case "--etcds": set(&plan.etcds, Int(value))
        case "--members": set(&plan.members, Int(value))
        case "--cores": set(&plan.cores, Int(value))
        case "--authentication": set(&plan.authentication, FleetPlan.Authentication(rawValue: value))
        case "--tokens": set(&plan.isTokenKept, ["kept": true, "rotated": false][value])
        case "--grace": set(&plan.grace, Int64(value).map { .some($0) })
        case "--response": set(&plan.responseTime, Int64(value).map { $0 * 1_000_000 })
        case "--log": set(&plan.costs.logBatch, Int64(value).map { $0 * 1_000_000 })
        case "--seed": set(&plan.seed, UInt64(value))
        case "--conduct":
            set(&plan.conduct, ["present": FleetPlan.Conduct.present, "proposed": .proposed][value])
        case "--hearing": set(&plan.conduct.hearing, FleetPlan.Hearing(rawValue: value))
        case "--spreading": set(&plan.conduct.spreading, FleetPlan.Spreading(rawValue: value))
        case "--watching": set(&plan.conduct.watching, FleetPlan.Watching(rawValue: value))
        case "--reading": set(&plan.conduct.readsAll, ["all": true, "each": false][value])
        default: false
        }
    }

    private func set<Value>(_ place: inout Value, _ value: Value?) -> Bool {
        guard let value else { return false }
        place = value
        return true
    }
}
