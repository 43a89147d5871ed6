// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// Tells the other hosts that this one is there: at first, every hour, and whenever etcd may have lost it; and that it is
/// not there any more.
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

    /// Tells them now, unless that is being done or this host shares nothing.
    func announce(in agent: isolated SessionAgent) {
        guard let port, let sharing = agent.fleet.sharing, agent.fleet.takesPart, !isUnderWay else { return }
        isUnderWay = true
        agent.fleet.call(in: agent) { () async throws(FleetTrouble) in
            try await port.announce(to: sharing)
        } then: { [self] result in
            announced(result, in: agent)
        }
    }

    private func announced(_ result: Result<Void, FleetTrouble>, in agent: isolated SessionAgent) {
        isUnderWay = false
        guard agent.fleet.takesPart else { return withdrawAgain(in: agent) }
        let pause = if case .success = result { HostAnnouncements.interval } else { FleetDesk.pause }
        plan(in: pause) { agent.fleet.announcements.announce(in: agent) }
    }

    /// Takes this host, which shares nothing any more, out of the list; tries again until etcd has heard of it.
    ///
    /// - Returns: why the list still names it; `nil`: it does not.
    func withdraw(in agent: isolated SessionAgent) async -> FleetTrouble? {
        guard let port, let sharing = agent.fleet.sharing, !agent.fleet.takesPart else { return nil }
        do throws(FleetTrouble) {
            try await sharing.withdraw(host: port.host)
            return nil
        } catch {
            let survey = error.kind == .denied ? await sharing.survey([]) : nil
            // One that may only read has never been able to write itself there.
            if let survey, survey.trouble == nil, !survey.hosts.contains(where: { $0.id == port.host }) {
                return nil
            }
            plan(in: FleetDesk.pause) { agent.fleet.announcements.withdrawAgain(in: agent) }
            return error
        }
    }

    private func withdrawAgain(in agent: isolated SessionAgent) {
        Task { _ = await withdraw(in: agent) }
    }

    private func plan(in pause: TimeAmount, _ action: @escaping () -> Void) {
        next?.cancel()
        next = eventLoop.assumeIsolated().scheduleTask(in: pause, action)
    }

    /// The agent locks or stops.
    func end() {
        next?.cancel()
        next = nil
    }
}
