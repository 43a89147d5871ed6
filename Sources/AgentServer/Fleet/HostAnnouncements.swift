// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// The entry of this host in etcd's list of hosts.
///
/// It is written at first, every hour, and whenever etcd may have lost it. It is deleted when this host
/// shares nothing any more. Confined to the agent's event loop.
final class HostAnnouncements {
    private static let interval = TimeAmount.hours(1)

    private let port: FleetDependencies?
    private let eventLoop: any EventLoop
    private var isUnderWay = false
    /// The time of this host's latest entry in etcd's time, or `nil` if there is none or it is unknown.
    private(set) var announcedAt: FleetTime?
    /// The error of the latest write, or `nil` if it succeeded.
    private(set) var trouble: FleetStoreError?
    private var next: Scheduled<Void>?

    init(_ port: FleetDependencies?, eventLoop: any EventLoop) {
        self.port = port
        self.eventLoop = eventLoop
    }

    /// Writes the entry now, unless a write is in flight or this host shares nothing.
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

    /// Records the result of writing the entry.
    private func note(_ result: Result<FleetTime, FleetStoreError>, in agent: isolated SessionAgent) {
        announcedAt = try? result.get()
        let former = trouble
        trouble = result.failure
        // A keeper without the right to write cannot refresh anything, and would notice only at its next
        // refresh.
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

    /// Removes this host, which shares nothing any more, from the list.
    ///
    /// Retries until etcd has done so.
    ///
    /// - Returns: The error because of which the list still has the entry, or `nil` if the entry is gone.
    func withdraw(in agent: isolated SessionAgent) async -> FleetStoreError? {
        guard let port, let sharing = agent.fleet.sharing, !agent.fleet.hasSharedSessions else { return nil }
        do throws(FleetStoreError) {
            try await sharing.withdraw(host: port.host)
            return nil
        } catch {
            let survey = error.kind == .denied ? await sharing.survey([]) : nil
            // A host without the right to write never had an entry.
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

    /// Writes the entry once, for a check of whether this host may write.
    ///
    /// - Returns: The error, or `nil` if the write succeeded.
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

    /// Returns another agent with this host's identity: one that has written the entry since this agent did.
    func rival(among hosts: [HostDescription]) -> HostDescription? {
        guard let port, let announcedAt else { return nil }
        return hosts.first { $0.id == port.host && $0.seen > announcedAt }
    }

    /// Stops writing the entry, as the agent locks or stops.
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
