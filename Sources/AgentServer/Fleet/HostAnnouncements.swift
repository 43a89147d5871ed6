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
    /// When this host said so last, in etcd's time; `nil`: not yet, or it is not known.
    private(set) var announcedAt: FleetTime?
    /// Why it could not last time; `nil`: it could.
    private(set) var trouble: FleetStoreError?
    private var next: Scheduled<Void>?

    init(_ port: FleetPort?, eventLoop: any EventLoop) {
        self.port = port
        self.eventLoop = eventLoop
    }

    /// Tells them now, unless that is being done or this host shares nothing.
    func announce(in agent: isolated SessionAgent) {
        guard let port, let sharing = agent.fleet.sharing, agent.fleet.hasSharedSessions, !isUnderWay else {
            return
        }
        isUnderWay = true
        announcedAt = nil
        agent.fleet.call(in: agent) { () async throws(FleetStoreError) in
            try await port.announce(to: sharing)
        } then: { [self] result in
            announced(result, in: agent)
        }
    }

    /// What is known of how this host has announced itself.
    private func note(_ result: Result<FleetTime, FleetStoreError>, in agent: isolated SessionAgent) {
        announcedAt = try? result.get()
        let former = trouble
        trouble = result.failure
        // A keeper that may not write refreshes nothing, and finds out when it has to.
        guard let trouble, trouble.kind == .denied, port?.role == .keeper, trouble != former else { return }
        agent.ports.logger.warning("fleet: no right to write", metadata: ["error": "\(trouble.sentence)"])
    }

    private func announced(_ result: Result<FleetTime, FleetStoreError>, in agent: isolated SessionAgent) {
        isUnderWay = false
        note(result, in: agent)
        guard agent.fleet.hasSharedSessions else { return withdrawAgain(in: agent) }
        let pause = if case .success = result { HostAnnouncements.interval } else { FleetCoordinator.pause }
        plan(in: pause) { agent.fleet.announcements.announce(in: agent) }
    }

    /// Takes this host, which shares nothing any more, out of the list; tries again until etcd has heard of it.
    ///
    /// - Returns: why the list still names it; `nil`: it does not.
    func withdraw(in agent: isolated SessionAgent) async -> FleetStoreError? {
        guard let port, let sharing = agent.fleet.sharing, !agent.fleet.hasSharedSessions else { return nil }
        do throws(FleetStoreError) {
            try await sharing.withdraw(host: port.host)
            return nil
        } catch {
            let survey = error.kind == .denied ? await sharing.survey([]) : nil
            // One that may only read has never been able to write itself there.
            if let survey, survey.trouble == nil, !survey.hosts.contains(where: { $0.id == port.host }) {
                return nil
            }
            plan(in: FleetCoordinator.pause) { agent.fleet.announcements.withdrawAgain(in: agent) }
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

    /// Announces this host for somebody who wants to know whether it may.
    func tryNow(in agent: isolated SessionAgent) async -> FleetStoreError? {
        guard let port, let sharing = agent.fleet.sharing else { return nil }
        let result: Result<FleetTime, FleetStoreError>
        do throws(FleetStoreError) {
            result = .success(try await port.announce(to: sharing))
        } catch {
            result = .failure(error)
        }
        note(result, in: agent)
        return result.failure
    }

    /// Another agent that takes itself for this host: it has announced itself since this one did.
    func rival(among hosts: [HostDescription]) -> HostDescription? {
        guard let port, let announcedAt else { return nil }
        return hosts.first { $0.id == port.host && $0.seen > announcedAt }
    }

    /// The agent locks or stops.
    func end() {
        next?.cancel()
        next = nil
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}
