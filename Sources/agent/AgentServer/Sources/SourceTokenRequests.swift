// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The requests for source tokens, from which other sessions' tokens are made (RFC 8693).
///
/// They work like requests of programs, so that one refresh of a source serves all.
///
/// - Entry points: ``areReady(for:of:in:)``, ``tokens(for:in:)``, ``follow(_:of:in:)``.
/// - Runs on: the agent's event loop, to which it is confined.
final class SourceTokenRequests {
    /// A refresh that waits until a source has a token.
    private struct Waiting {
        var source: SessionSources.Source
        var session: SessionName
        var request: RefreshRequest
    }

    private var waiting: [WaiterID: Waiting] = [:]
    /// The token of each source that was last sent as an assertion.
    private var shown: [SessionName: SecretID] = [:]
    /// The next waiter ID, counted down from the maximum so that it never equals that of a program's request.
    private var next = UInt64.max

    /// Returns whether every source of `name` has a usable token.
    ///
    /// If not, the request continues once they have.
    func areReady(
        for request: RefreshRequest,
        of name: SessionName,
        in agent: isolated SessionAgent
    ) -> Bool {
        guard let sources = agent.sessions[name]?.settings.sources.all, !sources.isEmpty else { return true }
        return !asks(sources, for: request, of: name, in: agent)
    }

    /// Requests a token from the first of `sources` that has no usable one.
    ///
    /// - Returns: `false` if all of them have one.
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

    /// Returns the current token of `source` if it must not be sent again and can be replaced, otherwise
    /// `nil`.
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

    /// Requests a token from the source, other than `spent`.
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
                // No server has rejected it.
                because: .asked,
                deadline: need.deadline,
                at: moment
            )
        }
        agent.refreshes.tokenRequest(source.session, in: agent)
    }

    /// Returns the current tokens of the sources of `name`.
    ///
    /// - Throws: `RefreshFailure` if one is not available without waiting.
    func tokens(
        for name: SessionName,
        in agent: isolated SessionAgent
    ) throws(RefreshFailure) -> SubjectAndActorTokens {
        guard let sources = agent.sessions[name]?.settings.sources else { return SubjectAndActorTokens() }
        let tokens = SubjectAndActorTokens(
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
            let message = "source session \(source.session) has no token now"
            throw RefreshFailure(kind: .sourceUnavailable, message: message)
        }
        return secret
    }

    /// Handles the response of a source if a refresh waits for it here.
    func answer(_ waiter: WaiterID, _ reply: Reply, in agent: isolated SessionAgent) {
        guard let renewal = waiting[waiter] else { return }
        switch reply {
        case .token: agent.work.later { [self] in proceed(waiter, in: agent) }
        case .failure(let failure):
            let failure = RefreshFailure(failure, of: renewal.source.session)
            agent.work.later { [self] in fail(waiter, failure, in: agent) }
        }
    }

    /// Continues the refresh.
    ///
    /// The source's token is checked again when the request is sent.
    private func proceed(_ waiter: WaiterID, in agent: isolated SessionAgent) {
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

    /// Returns the session of the refresh, or `nil` if the refresh was given up meanwhile.
    private func current(_ renewal: Waiting, in agent: isolated SessionAgent) -> SessionEntry? {
        guard agent.phase == .working, let kept = agent.sessions[renewal.session],
            kept.session.attemptInFlight == renewal.request.attempt
        else { return nil }
        return kept
    }

    /// Fails the refreshes that wait for a session that was removed from the configuration.
    func refuseAll(of source: SessionName, in agent: isolated SessionAgent) {
        for (waiter, renewal) in waiting where renewal.source.session == source {
            fail(waiter, .absent(source), in: agent)
        }
    }

    /// Makes the source of `name` replace the token that a server rejected.
    func recordRefusal(
        of tokens: SubjectAndActorTokens,
        for name: SessionName,
        in agent: isolated SessionAgent
    ) {
        guard let source = agent.sessions[name]?.settings.sources.subject, let token = tokens.subject,
            agent.sessions[source.session] != nil
        else { return }
        // Nothing waits for the result: the source's next event reports it.
        let waiter = WaiterID(rawValue: next)
        next -= 1
        let fingerprint = agent.ports.memory.fingerprint(of: token)
        agent.apply(source.session) { session, moment in
            session.tokenRefused(by: waiter, token, fingerprint, deadline: moment.now, at: moment)
        }
    }

    /// Gives up the refresh of a session that is removed from the configuration.
    ///
    /// - Returns: `true` if one was waiting, so that nothing of it was sent.
    func giveUp(for name: SessionName, in agent: isolated SessionAgent) -> Bool {
        let own = waiting.filter { $0.value.session == name }
        for (waiter, renewal) in own {
            waiting[waiter] = nil
            agent.apply(renewal.source.session) { session, _ in session.requestWithdrawn(by: waiter) }
        }
        return !own.isEmpty
    }

    /// Drops all state, as the agent locks or stops.
    func forget() {
        waiting = [:]
        shown = [:]
    }
}

// MARK: Logins and logouts of sources

extension SourceTokenRequests {
    /// Applies an event of `name` to every session derived from it: end, start again or continue.
    func follow(_ event: SessionEvent, of name: SessionName, in agent: isolated SessionAgent) {
        let derived = agent.configuration.derived[name]
        guard !derived.isEmpty, let change = SourceChange(event) else { return }
        // The source's own reaction to the event comes first.
        agent.work.later {
            guard agent.isServing, let source = agent.sessions[name]?.session else { return }
            for session in derived where !Self.isUseless(change, of: source, for: session, in: agent) {
                Self.follow(change, of: source, for: session, in: agent)
            }
        }
    }

    /// Returns whether the source has a new token, but still not the ID token that `name` requires.
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

    /// Compares derived sessions with the settings and with the state of their sources.
    ///
    /// The settings may have changed while no agent was running. A record may be older than the end of its
    /// source, or than another login there: the agent may have been killed in between, or not have had the
    /// session in its configuration.
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

/// The effect of a session's event on the sessions derived from it.
private enum SourceChange {
    /// The source's login has ended.
    case ended
    /// The user has logged in to the source, perhaps with another account.
    case returned
    /// The source has a new token of the same login.
    case renewed

    /// Creates the change for an event, or `nil` if it has no effect.
    init?(_ event: SessionEvent) {
        switch event.kind {
        case .loggedIn: self = .returned
        case .refreshed: self = .renewed
        case .loginRequired: self = .ended
        // The late result of a revocation, which has a reason, changes nothing.
        case .loggedOut where event.reason == nil: self = .ended
        case .loggedOut, .refreshFailed, .expiring: return nil
        }
    }
}

extension TokenRequirements {
    /// Creates the requirements of a session that is derived from `source`.
    fileprivate init(of source: SessionSources.Source, deadline: Instant) {
        self.init(wantsIDToken: source.usesIDToken, deadline: deadline, wantsLiveLogin: true)
    }
}

extension RefreshFailure {
    /// Creates the failure of a derived session from that of its `source`.
    fileprivate init(_ failure: ServingFailure, of source: SessionName) {
        let whose = "source session \(source)"
        switch failure {
        case .loginRequired(_, let message, let remedy):
            self.init(
                kind: .sourceEnded,
                message: "\(whose): \(message)",
                remedy: remedy ?? .run("tokenctl login \(source)")
            )
        case .temporarilyUnavailable(let message, let delay):
            self.init(kind: .sourceUnavailable, message: "\(whose): \(message)", minimumDelay: delay)
        case .tokenRefused(let message, let delay):
            self.init(kind: .sourceUnavailable, message: "\(whose): \(message)", minimumDelay: delay)
        case .misconfigured(let message, let remedy):
            self.init(kind: .misconfigured, message: "\(whose): \(message)", remedy: remedy)
        case .notRefreshable(let message, let remedy):
            self.init(
                kind: .sourceEnded,
                message: "\(whose): \(message)",
                remedy: remedy ?? .run("tokenctl login \(source)")
            )
        case .validityUnattainable:
            self.init(kind: .misconfigured, message: "\(whose): its tokens expire at once")
        case .noIDToken:
            self.init(
                kind: .misconfigured,
                message: "\(whose) has no ID token",
                remedy: .set(
                    "openid in scopes of its source [session.\(source)], then run tokenctl login \(source)"
                )
            )
        case .idTokenNotRenewed(let remedy):
            self.init(
                kind: .sourceEnded,
                message: "\(whose): its ID token expired and the last refresh returned no new one",
                remedy: remedy ?? .run("tokenctl login \(source)")
            )
        }
    }

    fileprivate init(endOf source: Session) {
        self.init(
            kind: .sourceEnded,
            message: "source session \(source.name) is not logged in",
            remedy: source.status.remedy ?? .run("tokenctl login \(source.name)")
        )
    }

    fileprivate static func absent(_ source: SessionName) -> RefreshFailure {
        RefreshFailure(kind: .sourceUnavailable, message: "source session \(source) not found")
    }
}
