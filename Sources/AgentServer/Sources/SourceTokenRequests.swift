// SPDX-License-Identifier: MIT

import TokenCore

/// The tokens that other sessions' tokens are made from (RFC 8693): asked for as programs ask for theirs, so that a
/// source is refreshed once for everybody.
///
/// Confined to the agent's event loop.
final class SourceTokenRequests {
    /// A renewal that waits until a source has a token.
    private struct Waiting {
        var source: SessionName
        var session: SessionName
        var request: RefreshRequest
    }

    private var waiting: [WaiterID: Waiting] = [:]
    /// The answer to the one request that does not wait.
    private var prompt: (waiter: WaiterID, reply: Reply?)?
    /// Counts down from the largest number, so that it never meets those of programs' requests.
    private var next = UInt64.max

    /// Whether every source of `name` has a token to be used now; if not, the request goes on when they have.
    func areReady(for request: RefreshRequest, of name: SessionName, in agent: isolated SessionAgent) -> Bool
    {
        guard let settings = agent.sessions[name]?.settings else { return true }
        for source in settings.sources.all {
            let need = TokenNeed(wantsIDToken: source.usesIDToken, deadline: agent.now)
            let isMet = agent.ask(source.session) { session, moment in session.meets(need, at: moment.now) }
            guard isMet != true else { continue }
            ask(source, for: Waiting(source: source.session, session: name, request: request), in: agent)
            return false
        }
        return true
    }

    private func ask(
        _ source: SessionSources.Source,
        for renewal: Waiting,
        in agent: isolated SessionAgent
    ) {
        let waiter = freshWaiter()
        waiting[waiter] = renewal
        guard agent.sessions[source.session] != nil else {
            return agent.work.later { [self] in fail(waiter, .absent(source.session), in: agent) }
        }
        agent.apply(source.session) { session, moment in
            let deadline = moment.now + session.policy.getTimeout
            let need = TokenNeed(wantsIDToken: source.usesIDToken, deadline: deadline)
            return session.tokenRequested(by: waiter, need, at: moment)
        }
        agent.refreshes.demand(source.session, in: agent)
    }

    /// The tokens of the sources of `name`, as they are now.
    ///
    /// - Throws: why one cannot be had without waiting.
    func tokens(
        for name: SessionName,
        in agent: isolated SessionAgent
    ) throws(RefreshFailure) -> SourceTokens {
        guard let sources = agent.sessions[name]?.settings.sources else { return SourceTokens() }
        return SourceTokens(
            subject: try sources.subject.map { source throws(RefreshFailure) in
                try secret(of: source, in: agent)
            },
            actor: try sources.actor.map { source throws(RefreshFailure) in
                try secret(of: source, in: agent)
            }
        )
    }

    private func secret(
        of source: SessionSources.Source,
        in agent: isolated SessionAgent
    ) throws(RefreshFailure) -> SecretID {
        guard agent.sessions[source.session] != nil else { throw .absent(source.session) }
        let waiter = freshWaiter()
        prompt = (waiter, nil)
        agent.apply(source.session) { session, moment in
            let need = TokenNeed(wantsIDToken: source.usesIDToken, deadline: moment.now)
            return session.tokenRequested(by: waiter, need, at: moment)
        }
        defer { prompt = nil }
        switch prompt?.reply {
        case .token(let token):
            guard let secret = source.usesIDToken ? token.idToken : token.secret else {
                throw RefreshFailure(.noIDToken, of: source.session)
            }
            return secret
        case .failure(let failure): throw RefreshFailure(failure, of: source.session)
        case nil:
            agent.apply(source.session) { session, _ in session.requestWithdrawn(by: waiter) }
            throw RefreshFailure(kind: .busy, message: "\(source.session) has no token at this moment")
        }
    }

    /// Takes the answer of a source; `false`: it is for somebody else.
    func answer(_ waiter: WaiterID, _ reply: Reply, in agent: isolated SessionAgent) -> Bool {
        if prompt?.waiter == waiter {
            prompt?.reply = reply
            return true
        }
        guard let renewal = waiting[waiter] else { return false }
        switch reply {
        case .token: agent.work.later { [self] in goOn(waiter, in: agent) }
        case .failure(let failure):
            let failure = RefreshFailure(failure, of: renewal.source)
            agent.work.later { [self] in fail(waiter, failure, in: agent) }
        }
        return true
    }

    /// Goes on with the renewal; whether the source's token is still there is seen when it is sent.
    private func goOn(_ waiter: WaiterID, in agent: isolated SessionAgent) {
        guard let renewal = waiting.removeValue(forKey: waiter), let kept = current(renewal, in: agent) else {
            return
        }
        let others = kept.settings.sources.all.drop { $0.session != renewal.source }.dropFirst()
        for source in others {
            let need = TokenNeed(wantsIDToken: source.usesIDToken, deadline: agent.now)
            let isMet = agent.ask(source.session) { session, moment in session.meets(need, at: moment.now) }
            guard isMet != true else { continue }
            var renewal = renewal
            renewal.source = source.session
            return ask(source, for: renewal, in: agent)
        }
        agent.refreshes.queue(.send(renewal.request), for: kept, in: agent)
    }

    private func fail(_ waiter: WaiterID, _ failure: RefreshFailure, in agent: isolated SessionAgent) {
        guard let renewal = waiting.removeValue(forKey: waiter), current(renewal, in: agent) != nil else {
            return
        }
        let attempt = renewal.request.attempt
        agent.refreshes.refreshFinished(attempt, .failed(failure), for: renewal.session, in: agent)
    }

    /// The session whose renewal it is, unless that was given up meanwhile.
    private func current(_ renewal: Waiting, in agent: isolated SessionAgent) -> KeptSession? {
        guard agent.phase == .working, let kept = agent.sessions[renewal.session],
            kept.session.attemptInFlight == renewal.request.attempt
        else { return nil }
        return kept
    }

    /// Fails the renewals that wait for a session which has left the configuration.
    func refuseAll(of source: SessionName, in agent: isolated SessionAgent) {
        for (waiter, renewal) in waiting where renewal.source == source {
            fail(waiter, .absent(source), in: agent)
        }
    }

    /// Lets go of everything: the agent locks or stops.
    func forget() {
        waiting = [:]
    }

    private func freshWaiter() -> WaiterID {
        next -= 1
        return WaiterID(rawValue: next)
    }
}

// MARK: Logins and logouts of sources

extension SourceTokenRequests {
    /// Has every session made of `name` end or start anew with it.
    func follow(_ event: SessionEvent, of name: SessionName, in agent: isolated SessionAgent) {
        let isReturn: Bool
        switch event.kind {
        case .loggedIn: isReturn = true
        // The late result of a revocation, which has a reason, says nothing new.
        case .loggedOut where event.reason == nil: isReturn = false
        case .loginRequired: isReturn = false
        case .refreshed, .refreshFailed, .expiring, .loggedOut: return
        }
        let derived = agent.sessionsMade(from: name)
        guard !derived.isEmpty else { return }
        agent.work.later {
            guard agent.isServing, let source = agent.sessions[name]?.session else { return }
            let failure = RefreshFailure(
                kind: .sourceEnded,
                message: "\(name), which its tokens are made from, has no login",
                remedy: source.status.remedy
            )
            for session in derived {
                agent.apply(session) { session, moment in
                    isReturn
                        ? session.sourceReturned(at: moment) : session.sourceEnded(failure, at: moment)
                }
            }
        }
    }
}

extension SessionAgent {
    /// The sessions made from the tokens of `name`, and those made from theirs.
    fileprivate func sessionsMade(from name: SessionName) -> [SessionName] {
        var found: Set<SessionName> = []
        var latest: Set<SessionName> = [name]
        while !latest.isEmpty {
            let next = sessions.values.filter { kept in
                kept.settings.sources.all.contains { latest.contains($0.session) }
            }
            latest = Set(next.map(\.session.name)).subtracting(found)
            found.formUnion(latest)
        }
        return found.subtracting([name]).sorted()
    }
}

extension RefreshFailure {
    /// What the lack of a token of `source` means for a session that is made from it.
    fileprivate init(_ failure: ServingFailure, of source: SessionName) {
        switch failure {
        case .loginRequired(_, let message, let remedy):
            self.init(
                kind: .sourceEnded,
                message: "\(source), which its tokens are made from, has no login: \(message)",
                remedy: remedy ?? "tokenctl login \(source)"
            )
        case .temporarilyUnavailable(let message, let retryAfter):
            self.init(kind: .busy, message: "\(source): \(message)", retryAfter: retryAfter)
        case .tokenRefused(let message, let retryAfter):
            self.init(kind: .busy, message: "\(source): \(message)", retryAfter: retryAfter)
        case .misconfigured(let message, let remedy):
            self.init(kind: .misconfigured, message: "\(source): \(message)", remedy: remedy)
        case .validityUnattainable:
            self.init(kind: .misconfigured, message: "\(source): its tokens end as soon as they come")
        case .noIDToken:
            self.init(
                kind: .misconfigured,
                message: "\(source), which its tokens are made from, has no ID token",
                remedy: "add openid to the scopes of \(source) and log in to it, or use its access token"
            )
        }
    }

    fileprivate static func absent(_ source: SessionName) -> RefreshFailure {
        RefreshFailure(kind: .misconfigured, message: "the configuration has no session \(source)")
    }
}
