// SPDX-License-Identifier: MIT

import SealedStore
import TokenCore

/// The tokens that other sessions' tokens are made from (RFC 8693): asked for as programs ask for theirs, so that a
/// source is refreshed once for everybody.
///
/// Confined to the agent's event loop.
final class SourceTokenRequests {
    /// A renewal that waits until a source has a token.
    private struct Waiting {
        var source: SessionSources.Source
        var session: SessionName
        var request: RefreshRequest
    }

    private var waiting: [WaiterID: Waiting] = [:]
    /// The token of each source that was shown last as an assertion.
    private var shown: [SessionName: SecretID] = [:]
    /// Counts down from the largest number, so that it never meets those of programs' requests.
    private var next = UInt64.max

    /// Whether every source of `name` has a token to be used now; if not, the request goes on when they have.
    func areReady(
        for request: RefreshRequest,
        of name: SessionName,
        in agent: isolated SessionAgent
    ) -> Bool {
        guard let sources = agent.sessions[name]?.settings.sources.all, !sources.isEmpty else { return true }
        return !asks(sources, for: request, of: name, in: agent)
    }

    /// Asks the first of `sources` that has no token to be used now; `false`: all have one.
    private func asks(
        _ sources: some Sequence<SessionSources.Source>,
        for request: RefreshRequest,
        of name: SessionName,
        in agent: isolated SessionAgent
    ) -> Bool {
        for source in sources {
            let need = TokenRequirements(of: source, deadline: agent.now)
            let session = agent.sessions[source.session]?.session
            let spent = spentToken(of: source, in: agent)
            guard session?.meets(need, at: agent.now) != true || spent != nil else { continue }
            ask(Waiting(source: source, session: name, request: request), replacing: spent, in: agent)
            return true
        }
        return false
    }

    /// The present token of `source`, if it is not to be shown again and there can be another one.
    private func spentToken(
        of source: SessionSources.Source,
        in agent: isolated SessionAgent
    ) -> SecretID? {
        guard source.isShownOnce, let session = agent.sessions[source.session]?.session, session.canRefresh,
            let token = session.token(for: TokenRequirements(of: source, deadline: agent.now), at: agent.now),
            shown[source.session] == token.secret
        else { return nil }
        return token.secret
    }

    /// Asks the source for a token, other than `spent`.
    private func ask(
        _ renewal: Waiting,
        replacing spent: SecretID?,
        in agent: isolated SessionAgent
    ) {
        let waiter = WaiterID(rawValue: next)
        next -= 1
        waiting[waiter] = renewal
        let source = renewal.source
        guard agent.sessions[source.session] != nil else {
            return agent.work.later { [self] in fail(waiter, .absent(source.session), in: agent) }
        }
        agent.apply(source.session) { session, moment in
            let need = TokenRequirements(of: source, deadline: moment.now + session.policy.getTimeout)
            guard let spent else { return session.tokenRequested(by: waiter, need, at: moment) }
            return session.refreshRequested(
                by: waiter,
                rejecting: spent,
                // No server has refused it.
                because: .asked,
                deadline: need.deadline,
                at: moment
            )
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
        let tokens = SourceTokens(
            subject: try secret(of: sources.subject, in: agent),
            actor: try secret(of: sources.actor, in: agent)
        )
        if let subject = sources.subject, subject.isShownOnce { shown[subject.session] = tokens.subject }
        return tokens
    }

    private func secret(
        of source: SessionSources.Source?,
        in agent: isolated SessionAgent
    ) throws(RefreshFailure) -> SecretID? {
        guard let source else { return nil }
        guard let session = agent.sessions[source.session]?.session else { throw .absent(source.session) }
        let token = session.token(for: TokenRequirements(of: source, deadline: agent.now), at: agent.now)
        guard let secret = source.usesIDToken ? token?.idToken?.secret : token?.secret else {
            let message = "the session \(source.session) has no token at this moment"
            throw RefreshFailure(kind: .sourceUnavailable, message: message)
        }
        return secret
    }

    /// Takes the answer of a source, if it is for one of those that wait here.
    func answer(_ waiter: WaiterID, _ reply: Reply, in agent: isolated SessionAgent) {
        guard let renewal = waiting[waiter] else { return }
        switch reply {
        case .token: agent.work.later { [self] in goOn(waiter, in: agent) }
        case .failure(let failure):
            let failure = RefreshFailure(failure, of: renewal.source.session)
            agent.work.later { [self] in fail(waiter, failure, in: agent) }
        }
    }

    /// Goes on with the renewal; whether the source's token is still there is seen when it is sent.
    private func goOn(_ waiter: WaiterID, in agent: isolated SessionAgent) {
        guard let renewal = waiting.removeValue(forKey: waiter), let kept = current(renewal, in: agent) else {
            return
        }
        let others = kept.settings.sources.all.drop { $0 != renewal.source }.dropFirst()
        guard !asks(others, for: renewal.request, of: renewal.session, in: agent) else { return }
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
    private func current(_ renewal: Waiting, in agent: isolated SessionAgent) -> SessionEntry? {
        guard agent.phase == .working, let kept = agent.sessions[renewal.session],
            kept.session.attemptInFlight == renewal.request.attempt
        else { return nil }
        return kept
    }

    /// Fails the renewals that wait for a session which has left the configuration.
    func refuseAll(of source: SessionName, in agent: isolated SessionAgent) {
        for (waiter, renewal) in waiting where renewal.source.session == source {
            fail(waiter, .absent(source), in: agent)
        }
    }

    /// Has the source of `name` replace the token that a server did not take.
    func noteRefusal(of tokens: SourceTokens, for name: SessionName, in agent: isolated SessionAgent) {
        guard let source = agent.sessions[name]?.settings.sources.subject, let token = tokens.subject,
            agent.sessions[source.session] != nil
        else { return }
        // Nobody waits: what becomes of it is told by the source's next event.
        let waiter = WaiterID(rawValue: next)
        next -= 1
        let fingerprint = agent.ports.memory.fingerprint(of: token)
        agent.apply(source.session) { session, moment in
            session.tokenRefused(by: waiter, token, fingerprint, deadline: moment.now, at: moment)
        }
    }

    /// Gives up the renewal of a session that leaves the configuration.
    ///
    /// - Returns: whether one waited, so that nothing of it was sent.
    func giveUp(for name: SessionName, in agent: isolated SessionAgent) -> Bool {
        let own = waiting.filter { $0.value.session == name }
        for (waiter, renewal) in own {
            waiting[waiter] = nil
            agent.apply(renewal.source.session) { session, _ in session.requestWithdrawn(by: waiter) }
        }
        return !own.isEmpty
    }

    /// Lets go of everything: the agent locks or stops.
    func forget() {
        waiting = [:]
        shown = [:]
    }
}

// MARK: Logins and logouts of sources

extension SourceTokenRequests {
    /// Has every session made from `name` end, start anew or go on with it.
    func follow(_ event: SessionEvent, of name: SessionName, in agent: isolated SessionAgent) {
        let derived = agent.configuration.derived[name]
        guard !derived.isEmpty, let change = SourceChange(event) else { return }
        // What the source does because of the event comes first.
        agent.work.later {
            guard agent.isServing, let source = agent.sessions[name]?.session else { return }
            for session in derived where !Self.isUseless(change, of: source, for: session, in: agent) {
                Self.follow(change, of: source, for: session, in: agent)
            }
        }
    }

    /// Whether the source of `name` has another token, but still not the ID token that is wanted of it.
    private static func isUseless(
        _ change: SourceChange,
        of source: Session,
        for name: SessionName,
        in agent: isolated SessionAgent
    ) -> Bool {
        guard change == .renewed, let sources = agent.sessions[name]?.settings.sources.all else {
            return false
        }
        return sources.contains { $0.session == source.name && $0.usesIDToken }
            && source.isIDTokenExpired(of: .primary, at: agent.now)
    }

    /// Looks whether what sessions were made from is still what the settings name, and is still there.
    ///
    /// The settings may have been changed while no agent looked. A record may be older than the end of its source, or
    /// than another login there: the agent may have been killed in between, or not have had the session in its
    /// configuration.
    func compare(in agent: isolated SessionAgent) {
        for (name, kept) in agent.sessions where kept.session.isOfOtherSettings {
            agent.apply(name) { session, moment in session.registrationChanged(at: moment) }
        }
        var changes: [SessionName: (change: SourceChange, source: Session)] = [:]
        for source in agent.configuration.derived.sources {
            guard let session = agent.sessions[source]?.session else { continue }
            for name in agent.configuration.derived[source] {
                guard let began = agent.sessions[name]?.session.loginBegan else { continue }
                if session.loginBegan == nil, !session.policy.startsByItself {
                    changes[name] = (.ended, session)
                } else if let source = session.loginBegan, source > began, changes[name] == nil {
                    changes[name] = (.returned, session)
                }
            }
        }
        for name in agent.configuration.derived.all {
            guard let (change, source) = changes[name] else { continue }
            Self.follow(change, of: source, for: name, in: agent)
        }
    }

    private static func follow(
        _ change: SourceChange,
        of source: Session,
        for name: SessionName,
        in agent: isolated SessionAgent
    ) {
        agent.apply(name) { session, moment in
            switch change {
            case .ended: session.sourceEnded(RefreshFailure(endOf: source), at: moment)
            case .returned: session.sourceReturned(at: moment)
            case .renewed: session.sourceRecovered(at: moment)
            }
        }
    }
}

/// What an event of a session means for those that are made from it.
private enum SourceChange {
    /// Its login is over.
    case ended
    /// Somebody has logged in to it, perhaps with another account.
    case returned
    /// It has another token of the same login.
    case renewed

    /// `nil`: nothing.
    init?(_ event: SessionEvent) {
        switch event.kind {
        case .loggedIn: self = .returned
        case .refreshed: self = .renewed
        case .loginRequired: self = .ended
        // The late result of a revocation, which has a reason, says nothing new.
        case .loggedOut where event.reason == nil: self = .ended
        case .loggedOut, .refreshFailed, .expiring: return nil
        }
    }
}

extension TokenRequirements {
    /// What a session that is made from `source` asks of it.
    fileprivate init(of source: SessionSources.Source, deadline: Instant) {
        self.init(wantsIDToken: source.usesIDToken, deadline: deadline, wantsLiveLogin: true)
    }
}

extension RefreshFailure {
    /// What the lack of a token of `source` means for a session that is made from it.
    fileprivate init(_ failure: ServingFailure, of source: SessionName) {
        let whose = "the session \(source), which its tokens are made from"
        switch failure {
        case .loginRequired(_, let message, let remedy):
            self.init(
                kind: .sourceEnded,
                message: "\(whose), has no login: \(message)",
                remedy: remedy ?? "tokenctl login \(source)"
            )
        case .temporarilyUnavailable(let message, let pause):
            self.init(kind: .sourceUnavailable, message: "\(whose): \(message)", leastPause: pause)
        case .tokenRefused(let message, let pause):
            self.init(kind: .sourceUnavailable, message: "\(whose): \(message)", leastPause: pause)
        case .misconfigured(let message, let remedy):
            self.init(kind: .misconfigured, message: "\(whose): \(message)", remedy: remedy)
        case .notRefreshable(let message, let remedy):
            self.init(
                kind: .sourceEnded,
                message: "\(whose): \(message)",
                remedy: remedy ?? "tokenctl login \(source)"
            )
        case .validityUnattainable:
            self.init(kind: .misconfigured, message: "\(whose): its tokens end as soon as they come")
        case .noIDToken:
            self.init(
                kind: .misconfigured,
                message: "\(whose), has no ID token",
                remedy: "add openid to the scopes of \(source) and log in to it, or use its access token"
            )
        case .idTokenNotRenewed(let remedy):
            self.init(
                kind: .sourceEnded,
                message: "\(whose), has an ID token that has ended, and a refresh brought no other one",
                remedy: remedy ?? "tokenctl login \(source)"
            )
        }
    }

    fileprivate init(endOf source: Session) {
        self.init(
            kind: .sourceEnded,
            message: "the session \(source.name), which its tokens are made from, has no login",
            remedy: source.status.remedy ?? "tokenctl login \(source.name)"
        )
    }

    fileprivate static func absent(_ source: SessionName) -> RefreshFailure {
        RefreshFailure(kind: .sourceUnavailable, message: "there is no session \(source) at this moment")
    }
}
