// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import TokenCore

/// The token requests that wait for the first read of etcd.
///
/// Until then a host cannot tell whether the session is logged in, and a reader cannot tell whether the
/// keepers have the requested token.
///
/// Confined to the agent's event loop.
final class FleetReadWaiters {
    private let registry: SessionRegistry
    private let fleet: any SessionSharing
    private let timekeeper: any Timekeeper
    private let tasks: LoopTasks
    private let eventLoop: any EventLoop
    /// Answers the requests; set once it exists.
    weak var tokens: TokenRequests?
    private var waiting: [SessionName: [DeferredTokenRequest]] = [:]
    /// The requests at a reader, each of which waits for its own read of etcd.
    private var looking: [UInt64: DeferredTokenRequest] = [:]
    private var latestLook: UInt64 = 0

    init(
        registry: SessionRegistry,
        fleet: any SessionSharing,
        timekeeper: any Timekeeper,
        tasks: LoopTasks,
        eventLoop: any EventLoop
    ) {
        self.registry = registry
        self.fleet = fleet
        self.timekeeper = timekeeper
        self.tasks = tasks
        self.eventLoop = eventLoop
    }

    /// Makes a request wait for the fleet, or fails it if the fleet is unavailable.
    ///
    /// - Returns: `true` if the request was taken. Otherwise the session can answer it.
    func take(_ query: TokenQuery, _ call: PendingTokenRequest) -> Bool {
        let name = call.session
        guard let settings = registry[name]?.settings else { return false }
        let timeout = query.timeout ?? settings.policy.getTimeout
        guard let blank = fleet.blank(of: name) else {
            return look(for: query, call, timeout)
        }
        guard case .awaited = blank, timeout > .zero else {
            answer(call, blank)
            return true
        }
        call.connection.awaited = .fleet
        waiting[name, default: []].append(
            DeferredTokenRequest(query: query, call: call, deadline: timekeeper.now + timeout)
        )
        eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(timeout.saturatedNanoseconds)) {
            [weak self] in
            self?.endOverdue(of: name)
        }
        return true
    }

    /// Makes a request for a token that this reader lacks wait for one read of etcd.
    ///
    /// - Returns: `true` if the request was taken.
    private func look(for query: TokenQuery, _ call: PendingTokenRequest, _ timeout: Duration) -> Bool {
        let name = call.session
        let moment = timekeeper.moment
        let isLacking = registry.ask(name) { session, _ in
            session.lacksAsReader(
                TokenRequirements(query, call, policy: session.policy, at: moment),
                at: moment.now
            )
        }
        guard isLacking == true else { return false }
        if let blank = fleet.silence(on: name) {
            answer(call, blank)
            return true
        }
        guard !call.hasLooked, timeout > .zero else { return false }
        var waiting = DeferredTokenRequest(query: query, call: call, deadline: moment.now + timeout)
        (waiting.call.hasLooked, waiting.call.hasWaited) = (true, true)
        call.connection.awaited = .fleet
        latestLook += 1
        let number = latestLook
        looking[number] = waiting
        eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(timeout.saturatedNanoseconds)) {
            [weak self] in
            self?.endLook(number)
        }
        tasks.start {
            await self.fleet.look(at: name)
            self.endLook(number)
        }
        return true
    }

    /// Passes a request to the session, as its read has finished or its time has ended.
    private func endLook(_ number: UInt64) {
        guard let ended = looking.removeValue(forKey: number) else { return }
        tokens?.resume(ended)
    }

    /// Fails a request that depends on a session whose record was not read yet.
    ///
    /// - Returns: `true` if the request has failed.
    func refuse(_ call: PendingTokenRequest) -> Bool {
        guard let blank = fleet.blank(of: call.session) else { return false }
        answer(call, blank)
        return true
    }

    /// Resumes the requests for a session, as its record was read or cannot be read.
    func end(of name: SessionName) {
        guard let ended = waiting.removeValue(forKey: name) else { return }
        for waiting in ended { tokens?.resume(waiting) }
    }

    private func endOverdue(of name: SessionName) {
        let overdue = waiting[name]?.filter { $0.deadline <= timekeeper.now } ?? []
        waiting[name]?.removeAll { $0.deadline <= timekeeper.now }
        for waiting in overdue { answer(waiting.call, .awaited) }
    }

    private func answer(_ call: PendingTokenRequest, _ blank: FleetUnknownReason) {
        let failure = RequestFailure(blank, of: call.session)
        tokens?.answer(failure, to: call)
    }

    /// Fails all waiting requests, or only those for one session.
    func refuse(_ failure: RequestFailure, for session: SessionName?) {
        for (name, refused) in waiting where session == nil || session == name {
            waiting[name] = nil
            for one in refused { tokens?.answer(failure, to: one.call) }
        }
        for (number, refused) in looking where session == nil || session == refused.call.session {
            looking[number] = nil
            tokens?.answer(failure, to: refused.call)
        }
    }
}

extension RequestFailure {
    /// Creates the failure for a session of which this host cannot tell whether it is logged in.
    init(_ blank: FleetUnknownReason, of session: SessionName) {
        self.init(
            code: blank.isMistake ? .misconfigured : .temporarilyUnavailable,
            message: Self.clause(blank.sentence),
            session: session,
            remedy: blank.remedy,
            retryAfter: blank.retryAfter
        )
    }
}
