// SPDX-License-Identifier: MIT

import Logging
import NIOCore
import TokenCore

/// The entry of this host in etcd's list of hosts.
///
/// It is written at first, every hour, and whenever etcd may have lost it. It is deleted when this host
/// shares nothing any more. Confined to the agent's event loop.
final class HostAnnouncer {
    private static let interval = TimeAmount.hours(1)

    private let port: FleetDependencies
    private let eventLoop: any EventLoop
    private let parts: FleetParts
    /// The sessions that this host shares; set once they exist.
    weak var fleet: FleetCoordinator?
    private var isUnderWay = false
    /// The time, by etcd's clock, at which this host last wrote its entry, or `nil` if there is no entry or
    /// the time is unknown.
    private(set) var announcedAt: FleetTime?
    /// The error of the latest write, or `nil` if it succeeded.
    private(set) var storeError: FleetStoreError?
    private var next: Scheduled<Void>?

    init(_ port: FleetDependencies, eventLoop: any EventLoop, parts: FleetParts) {
        self.port = port
        self.parts = parts
        self.eventLoop = eventLoop
    }

    /// Writes this host's entry now, unless a write is in flight or this host shares nothing.
    func announce() {
        guard let fleet, let sharing = fleet.sharing, fleet.hasSharedSessions, !isUnderWay else {
            return
        }
        isUnderWay = true
        announcedAt = nil
        let port = port
        fleet.call { () async throws(FleetStoreError) in
            try await port.announce(to: sharing)
        } then: { [self] result in
            announced(result)
        }
    }

    /// Records the result of writing this host's entry.
    private func note(_ result: Result<FleetTime, FleetStoreError>) {
        announcedAt = try? result.get()
        let former = storeError
        storeError = result.failure
        // A keeper without the right to write cannot refresh anything, and would notice only at its next
        // refresh.
        guard let storeError, storeError.kind == .denied, port.role == .keeper, storeError != former else {
            return
        }
        let metadata: Logger.Metadata = ["error": "\(storeError.sentence)"]
        parts.log.logger.warning("fleet: write access to etcd denied", metadata: metadata)
    }

    private func announced(_ result: Result<FleetTime, FleetStoreError>) {
        isUnderWay = false
        note(result)
        guard fleet?.hasSharedSessions == true else { return withdrawAgain() }
        let delay = if case .success = result { HostAnnouncer.interval } else { FleetCoordinator.delay }
        plan(in: delay) { [weak self] in self?.announce() }
    }

    /// Removes the entry of this host, which shares nothing any more, from etcd's list of hosts.
    ///
    /// Retries until etcd has removed the entry.
    ///
    /// - Returns: The error because of which this host is still in the list, or `nil` if it is not.
    func withdraw() async -> FleetStoreError? {
        guard let fleet, let sharing = fleet.sharing, !fleet.hasSharedSessions else { return nil }
        do throws(FleetStoreError) {
            try await sharing.withdraw(host: port.host)
            return nil
        } catch {
            let survey = error.kind == .denied ? await sharing.survey([]) : nil
            // A host without the right to write never had an entry.
            if let survey, survey.storeError == nil, !survey.hosts.contains(where: { $0.id == port.host }) {
                return nil
            }
            plan(in: FleetCoordinator.delay) { [weak self] in self?.withdrawAgain() }
            return error
        }
    }

    private func withdrawAgain() {
        parts.tasks.start { _ = await self.withdraw() }
    }

    private func plan(in delay: TimeAmount, _ action: @escaping () -> Void) {
        next?.cancel()
        next = eventLoop.assumeIsolated().scheduleTask(in: delay, action)
    }

    /// Writes this host's entry once, to check whether this host may write.
    ///
    /// - Returns: The error, or `nil` if the write succeeded.
    func tryNow() async -> FleetStoreError? {
        guard let sharing = fleet?.sharing else { return nil }
        let result: Result<FleetTime, FleetStoreError>
        do throws(FleetStoreError) {
            result = .success(try await port.announce(to: sharing))
        } catch {
            result = .failure(error)
        }
        note(result)
        return result.failure
    }

    /// Returns this host's description if another agent has written it since this agent did, otherwise `nil`.
    ///
    /// The other agent then has the same host ID, as on a copied machine.
    func rival(among hosts: [HostDescription]) -> HostDescription? {
        guard let announcedAt else { return nil }
        return hosts.first { $0.id == port.host && $0.seen > announcedAt }
    }

    /// Stops writing this host's entry, because the agent locks or stops.
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
