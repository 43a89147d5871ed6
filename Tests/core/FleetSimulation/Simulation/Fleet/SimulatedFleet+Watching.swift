// SPDX-License-Identifier: MIT

import TokenCore

/// The reactions of hosts to their watches, and to the loss of a watch.
extension SimulatedFleet {
    /// Handles the arrival of a watch response at a host.
    mutating func hear(_ fanOut: Int) {
        let (host, index) = etcd.deliver(fanOut, &course)
        let change = etcd.changes[index]
        let link = etcd.link(host, plan.etcd(of: change.session))
        guard etcd.links[link].isWatching, plan.isMember(host, of: change.session) else { return }
        etcd.links[link].heard = max(etcd.links[link].heard, change.revision)
        hear(index, host * plan.sessions + change.session)
    }

    private mutating func hear(_ index: Int, _ member: Int) {
        let change = etcd.changes[index]
        let slot = members.slot(of: member)
        let waits = slot.map { members.active[$0].isHeld } ?? false
        let concerns = change.putsRecord || change.unlocks && waits
        switch plan.conduct.hearing {
        case .looks: self.change(member)
        case .filtered: if concerns { self.change(member) }
        case .carried: if concerns { show(index, member) }
        }
    }

    /// Tells a member that its session has changed.
    mutating func change(_ member: Int) { tell(member) { $0.changed(at: $1) } }

    /// Passes a session's keys, from a watch or a full range, to a member.
    private mutating func show(_ index: Int, _ member: Int) {
        var view = etcd.changes[index].view
        view.time = course.date
        tell(member) { $0.shown(view, at: $1) }
    }

    // MARK: Connections

    /// Reopens the watch of a host.
    mutating func reconnect(_ link: Int, _ life: UInt32) {
        let host = link / plan.etcds
        guard life == lives[host], !etcd.links[link].isWatching || etcd.links[link].hasGap else { return }
        guard !etcd.links[link].isWatching else { return readEverything(link) }
        etcd.call(.watch, host * plan.sessions, link, life: life, &course)
    }

    private mutating func reconnectLater(_ link: Int) {
        let host = link / plan.etcds
        etcd.links[link].watchFailures += 1
        let failures = Int(etcd.links[link].watchFailures)
        let jitter = course.chance.draw(link, failures, 8)
        let delay = RetrySchedule.backoff(failures: failures, cap: .seconds(60), jitter: jitter)
        let time = course.now + delay.saturatedNanoseconds
        course.agenda.put(.reconnect(link: Int32(link), life: lives[host]), at: time)
    }

    mutating func watch(_ link: Int, _ outcome: EtcdCall.Outcome) {
        guard case .watching = outcome else { return reconnectLater(link) }
        if etcd.links[link].hasGap {
            etcd.links[link].isWatching = true
            readEverything(link)
        } else {
            for index in etcd.resume(link, &course) {
                hear(index, link / plan.etcds * plan.sessions + etcd.changes[index].session)
            }
        }
        recordRecovery()
    }

    /// Reads every session, because the watch does not report earlier changes.
    private mutating func readEverything(_ link: Int) {
        let (host, cluster) = (link / plan.etcds, link % plan.etcds)
        guard !plan.conduct.readsAll else {
            return etcd.call(.readAll, host * plan.sessions, link, life: lives[host], &course)
        }
        etcd.links[link].hasGap = false
        for session in 0..<plan.sessions where plan.etcd(of: session) == cluster {
            if plan.isMember(host, of: session) { change(host * plan.sessions + session) }
        }
    }

    mutating func readAll(_ link: Int, _ outcome: EtcdCall.Outcome) {
        guard case .seenAll(let changes) = outcome else { return reconnectLater(link) }
        etcd.links[link].hasGap = false
        let host = link / plan.etcds
        for change in changes {
            let member = host * plan.sessions + etcd.changes[Int(change)].session
            show(Int(change), member)
        }
        recordRecovery()
    }
}
