// SPDX-License-Identifier: MIT

import TokenCore

/// The failures in a scenario.
struct TroubleList {
    enum Trouble {
        case restart(host: Int)
        /// All processes of etcd stop.
        ///
        /// Watches cannot resume from the history before.
        case stopEtcd
        case startEtcd
        /// Half of the hosts cannot reach etcd.
        case cut
        case heal
        /// The next host that sends a refresh token never comes back.
        case loseKeeper
    }

    var troubles: [Trouble] = []
    var losesKeeper = false
    /// The time of the last failure, and the time at which the fleet had recovered.
    var endedAt: Int64?
    var quietAt: Int64?
}

extension SimulatedFleet {
    mutating func put(_ fault: TroubleList.Trouble, at seconds: Double) {
        let time = Int64(seconds * Double(Course.second))
        troubles.troubles.append(fault)
        troubles.endedAt = max(troubles.endedAt ?? 0, time)
        course.agenda.put(.fault(Int32(troubles.troubles.count - 1)), at: time)
    }

    mutating func suffer(_ index: Int) {
        switch troubles.troubles[index] {
        case .restart(let host): restart(host)
        case .stopEtcd:
            for cluster in etcd.etcds.indices { etcd.etcds[cluster].stop() }
            for link in etcd.links.indices { disconnect(link, hasGap: true, after: plan.costs.roundTrip) }
        case .startEtcd: for cluster in etcd.etcds.indices { etcd.etcds[cluster].start() }
        case .cut: cut()
        case .heal: for link in etcd.links.indices { etcd.links[link].isUnreachable = false }
        case .loseKeeper: troubles.losesKeeper = true
        }
    }

    private mutating func disconnect(_ link: Int, hasGap: Bool, after delay: Int64) {
        etcd.links[link].isWatching = false
        etcd.links[link].hasGap = hasGap || etcd.links[link].hasGap
        etcd.links[link].connections = 0
        etcd.links[link].authorizedUntil = 0
        let event = SimulatedEvent.reconnect(link: Int32(link), life: lives[link / plan.etcds])
        course.agenda.put(event, at: course.now + delay)
    }

    private mutating func cut() {
        for host in 0..<plan.hosts where course.chance.draw(host, 9, 9) < 0.5 {
            for cluster in 0..<plan.etcds {
                let link = etcd.link(host, cluster)
                etcd.links[link].isUnreachable = true
                // The host detects that the watch has been silent for too long.
                let silence = Int64(course.chance.draw(host, 9, 10) * 30 * Double(Course.second))
                disconnect(link, hasGap: false, after: silence)
            }
        }
    }

    private mutating func restart(_ host: Int) {
        guard !lost.contains(host) else { return }
        lives[host] += 1
        for cluster in 0..<plan.etcds {
            let link = etcd.link(host, cluster)
            etcd.reset(link)
            disconnect(link, hasGap: true, after: 0)
        }
        for session in 0..<plan.sessions where plan.isMember(host, of: session) {
            let member = host * plan.sessions + session
            guard members.slot(of: member) != nil else { continue }
            members.stop(member)
            schedule(member)
            members.rest(member)
        }
    }

    mutating func lose(_ host: Int) {
        lost.insert(host)
        lives[host] += 1
        for cluster in 0..<plan.etcds { etcd.reset(etcd.link(host, cluster)) }
    }

    /// Records the time at which every host watches again and no member is busy.
    mutating func recordRecovery() {
        guard let endedAt = troubles.endedAt, course.now > endedAt, troubles.quietAt == nil else { return }
        guard lost.isEmpty, members.activeCount == 0, etcd.isWholeWatched else { return }
        troubles.quietAt = course.now
    }
}
