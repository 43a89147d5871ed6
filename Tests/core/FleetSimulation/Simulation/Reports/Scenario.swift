// SPDX-License-Identifier: MIT

/// The events during a simulation.
package enum Scenario: String, CaseIterable, Sendable {
    /// No failures.
    case calm
    /// All tokens were obtained at the same time.
    case wave
    /// All hosts restart within a second.
    case hosts
    /// etcd is down for ten seconds, and every host must read all of its sessions.
    case etcd
    /// Half of the hosts cannot reach etcd for the lifetime of a token.
    case partition
    /// A host is destroyed after it has sent a refresh token.
    case keeper

    /// The time at which the failure begins, in seconds.
    static let beginning = 60

    /// Returns the counted part of a run, in seconds, for tokens with a lifetime of `lifetime` seconds.
    func window(lifetime: Int64) -> Range<Int> {
        let lifetime = Int(lifetime)
        return switch self {
        case .calm: 0..<lifetime * 4 / 3
        case .wave: 0..<lifetime
        case .hosts, .etcd: Scenario.beginning..<Scenario.beginning + lifetime / 2
        case .partition: Scenario.beginning..<Scenario.beginning + lifetime * 3 / 2
        case .keeper: Scenario.beginning..<Scenario.beginning + lifetime * 4 / 3
        }
    }
}

extension SimulatedFleet {
    mutating func prepare(_ scenario: Scenario) {
        let start = Double(Scenario.beginning)
        switch scenario {
        case .calm, .wave: break
        case .hosts:
            for host in 0..<plan.hosts {
                put(.restart(host: host), at: start + course.chance.draw(host, 11, 11))
            }
        case .etcd:
            put(.stopEtcd, at: start)
            put(.startEtcd, at: start + 10)
        case .partition:
            put(.cut, at: start)
            put(.heal, at: start + Double(plan.lifetime))
        case .keeper: put(.loseKeeper, at: start)
        }
    }
}
