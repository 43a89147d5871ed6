// SPDX-License-Identifier: MIT

/// What happens to a fleet while it is simulated.
package enum Scenario: String, CaseIterable, Sendable {
    /// Nothing but time.
    case calm
    /// All tokens were obtained at one moment.
    case wave
    /// All hosts start anew within a second.
    case hosts
    /// etcd is away for ten seconds, and every host has to read all of its sessions.
    case etcd
    /// Half of the hosts do not reach etcd for the life of a token.
    case partition
    /// A host is destroyed after it has sent a refresh token.
    case keeper

    /// When the trouble begins, in seconds.
    static let beginning = 60

    /// How much of it is counted, in seconds, for tokens that live `lifetime` seconds.
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
