// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// Tells the other hosts that this one is there: at first, every hour, and whenever etcd may have lost it.
///
/// Confined to the agent's event loop.
final class HostAnnouncements {
    private static let interval = TimeAmount.hours(1)

    private let port: FleetPort?
    private let eventLoop: any EventLoop
    private var isUnderWay = false
    private var next: Scheduled<Void>?

    init(_ port: FleetPort?, eventLoop: any EventLoop) {
        self.port = port
        self.eventLoop = eventLoop
    }

    /// Tells them now, unless that is being done.
    func announce(in agent: isolated SessionAgent) {
        guard let port, let sharing = agent.fleet.sharing, !isUnderWay else { return }
        isUnderWay = true
        agent.fleet.call(in: agent) { () async throws(FleetTrouble) in
            try await port.announce(to: sharing)
        } then: { [self] result in
            isUnderWay = false
            let pause = if case .success = result { HostAnnouncements.interval } else { FleetDesk.pause }
            next?.cancel()
            next = eventLoop.assumeIsolated().scheduleTask(in: pause) {
                agent.fleet.announcements.announce(in: agent)
            }
        }
    }

    /// The agent locks or stops.
    func end() {
        next?.cancel()
        next = nil
    }
}
