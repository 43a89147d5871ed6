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
    private let eventLoop: any EventLoop
    private var waiting: [SessionName: [DeferredTokenRequest]] = [:]
    /// The requests at a reader, each of which waits for its own read of etcd.
    private var looking: [UInt64: DeferredTokenRequest] = [:]
    private var latestLook: UInt64 = 0

    init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// Makes a request wait for the fleet, or fails it if the fleet is unavailable.
    ///
    /// - Returns: `true` if the request was taken. Otherwise the session can answer it.
    func take(_ query: TokenQuery, _ call: PendingTokenRequest, in agent: isolated SessionAgent) -> Bool {
        let name = call.session
        guard let settings = agent.sessions[name]?.settings else { return false }
        let timeout = query.timeout ?? settings.policy.getTimeout
        guard let blank = agent.fleet.blank(of: name) else {
            return look(for: query, call, timeout, in: agent)
        }
        guard case .awaited = blank, timeout > .zero else {
            answer(call, blank, in: agent)
            return true
        }
        call.connection.awaited = .fleet
        waiting[name, default: []].append(
            DeferredTokenRequest(query: query, call: call, deadline: agent.now + timeout)
        )
        eventLoop.scheduleTask(in: .nanoseconds(timeout.saturatedNanoseconds)) { [weak agent] in
            agent?.assumeIsolated { $0.requests.tokens.fleetReadQueue.endOverdue(of: name, in: $0) }
        }
        return true
    }

    /// Makes a request for a token that this reader lacks wait for one read of etcd.
    ///
    /// - Returns: `true` if the request was taken.
    private func look(
        for query: TokenQuery,
        _ call: PendingTokenRequest,
        _ timeout: Duration,
        in agent: isolated SessionAgent
    ) -> Bool {
        let name = call.session
        let moment = agent.moment
        let isLacking = agent.ask(name) { session, _ in
            session.lacksAsReader(
                TokenRequirements(query, call, policy: session.policy, at: moment),
                at: moment.now
            )
        }
        guard isLacking == true else { return false }
        if let blank = agent.fleet.silence(on: name, in: agent) {
            answer(call, blank, in: agent)
            return true
        }
        guard !call.hasLooked, timeout > .zero else { return false }
        var waiting = DeferredTokenRequest(query: query, call: call, deadline: moment.now + timeout)
        (waiting.call.hasLooked, waiting.call.hasWaited) = (true, true)
        call.connection.awaited = .fleet
        latestLook += 1
        let number = latestLook
        looking[number] = waiting
        eventLoop.scheduleTask(in: .nanoseconds(timeout.saturatedNanoseconds)) { [weak agent] in
            agent?.assumeIsolated { $0.requests.tokens.fleetReadQueue.endLook(number, in: $0) }
        }
        Task {
            await agent.fleet.look(at: name, in: agent)
            endLook(number, in: agent)
        }
        return true
    }

    /// Passes a request to the session, as its read has finished or its time has ended.
    private func endLook(_ number: UInt64, in agent: isolated SessionAgent) {
        guard let ended = looking.removeValue(forKey: number) else { return }
        agent.requests.tokens.resume(ended, in: agent)
    }

    /// Fails a request that depends on a session whose record was not read yet.
    ///
    /// - Returns: `true` if the request has failed.
    func refuse(_ call: PendingTokenRequest, in agent: isolated SessionAgent) -> Bool {
        guard let blank = agent.fleet.blank(of: call.session) else { return false }
        answer(call, blank, in: agent)
        return true
    }

    /// Resumes the requests for a session, as its record was read or cannot be read.
    func end(of name: SessionName, in agent: isolated SessionAgent) {
        guard let ended = waiting.removeValue(forKey: name) else { return }
        for waiting in ended { agent.requests.tokens.resume(waiting, in: agent) }
    }

    private func endOverdue(of name: SessionName, in agent: isolated SessionAgent) {
        let overdue = waiting[name]?.filter { $0.deadline <= agent.now } ?? []
        waiting[name]?.removeAll { $0.deadline <= agent.now }
        for waiting in overdue { answer(waiting.call, .awaited, in: agent) }
    }

    private func answer(
        _ call: PendingTokenRequest,
        _ blank: FleetUnknownReason,
        in agent: isolated SessionAgent
    ) {
        let failure = RequestFailure(blank, of: call.session)
        agent.requests.tokens.answer(failure, to: call, in: agent)
    }

    /// Fails all waiting requests, or only those for one session.
    func refuse(_ failure: RequestFailure, for session: SessionName?, in agent: isolated SessionAgent) {
        for (name, refused) in waiting where session == nil || session == name {
            waiting[name] = nil
            for one in refused { agent.requests.tokens.answer(failure, to: one.call, in: agent) }
        }
        for (number, refused) in looking where session == nil || session == refused.call.session {
            looking[number] = nil
            agent.requests.tokens.answer(failure, to: refused.call, in: agent)
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
