// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import TokenCore

/// Requests for tokens that the fleet has not shown yet: a host that has just started cannot say that nobody has logged in,
/// nor a reader that the keepers have no token like this, before it has looked.
///
/// Confined to the agent's event loop.
final class FleetReadQueue {
    private let eventLoop: any EventLoop
    private var waiting: [SessionName: [DeferredTokenRequest]] = [:]
    /// Requests of a reader, each of which waits for a look of its own.
    private var looking: [UInt64: DeferredTokenRequest] = [:]
    private var latestLook: UInt64 = 0

    init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// Has a request wait for the fleet, or answers it if the fleet cannot be asked.
    ///
    /// - Returns: whether it did; if not, the session knows what to say.
    func take(_ query: TokenQuery, _ call: PendingTokenRequest, in agent: isolated SessionAgent) -> Bool {
        let name = call.session
        guard let settings = agent.sessions[name]?.settings else { return false }
        let patience = query.timeout ?? settings.policy.getTimeout
        guard let blank = agent.fleet.blank(of: name) else {
            return look(for: query, call, patience, in: agent)
        }
        guard case .awaited = blank, patience > .zero else {
            answer(call, blank, in: agent)
            return true
        }
        call.connection.awaited = .fleet
        waiting[name, default: []].append(
            DeferredTokenRequest(query: query, call: call, deadline: agent.now + patience)
        )
        eventLoop.scheduleTask(in: .nanoseconds(patience.saturatedNanoseconds)) { [weak agent] in
            agent?.assumeIsolated { $0.requests.tokens.fleetReadQueue.endOverdue(of: name, in: $0) }
        }
        return true
    }

    /// Has a request for what this host lacks as a reader wait for one look.
    private func look(
        for query: TokenQuery,
        _ call: PendingTokenRequest,
        _ patience: Duration,
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
        guard !call.hasLooked, patience > .zero else { return false }
        var waiting = DeferredTokenRequest(query: query, call: call, deadline: moment.now + patience)
        (waiting.call.hasLooked, waiting.call.hasWaited) = (true, true)
        call.connection.awaited = .fleet
        latestLook += 1
        let number = latestLook
        looking[number] = waiting
        eventLoop.scheduleTask(in: .nanoseconds(patience.saturatedNanoseconds)) { [weak agent] in
            agent?.assumeIsolated { $0.requests.tokens.fleetReadQueue.endLook(number, in: $0) }
        }
        Task {
            await agent.fleet.look(at: name, in: agent)
            endLook(number, in: agent)
        }
        return true
    }

    /// The look has been had, or its request waits no longer: the session says what it knows by now.
    private func endLook(_ number: UInt64, in agent: isolated SessionAgent) {
        guard let ended = looking.removeValue(forKey: number) else { return }
        agent.requests.tokens.resume(ended, in: agent)
    }

    /// Answers a request that nothing can be begun for as long as the fleet has not shown its session.
    ///
    /// - Returns: whether it did.
    func refuse(_ call: PendingTokenRequest, in agent: isolated SessionAgent) -> Bool {
        guard let blank = agent.fleet.blank(of: call.session) else { return false }
        answer(call, blank, in: agent)
        return true
    }

    /// The fleet has shown the session, or cannot: those who wait are served, or told so.
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

    /// Answers everybody who waits, or only those who wait for one session.
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
    /// Why nobody at this host can say whether somebody has logged in to `session`.
    init(_ blank: FleetUnknownReason, of session: SessionName) {
        self.init(
            code: blank.isMistake ? .misconfigured : .temporarilyUnavailable,
            message: Self.sentence(blank.sentence),
            session: session,
            remedy: blank.remedy,
            retryAfter: blank.retryAfter
        )
    }
}
