// SPDX-License-Identifier: MIT

import SecretMemory
import Text
import TokenCore

/// The refreshes that wait for source tokens.
protocol SourceAwaiting: AnyObject {
    /// Records that a request waits for the refresh of `name`.
    func tokenRequest(_ name: SessionName)
    /// Queues a step whose source tokens are available.
    func queue(_ step: RefreshQueue.NextStep, for kept: SessionEntry)
    /// Ends an attempt with its outcome.
    func refreshFinished(_ attempt: AttemptNumber, _ outcome: RefreshOutcome, for name: SessionName)
}

/// The requests for source tokens, from which other sessions' tokens are made (RFC 8693).
///
/// They work like requests of programs, so that one refresh of a source serves all.
///
/// - Entry points: ``areReady(for:of:)``, ``tokens(for:)``, ``follow(_:of:)``.
/// - Runs on: the agent's event loop, to which it is confined.
final class SourceTokenRequests {
    /// A refresh that waits until a source has a token.
    private struct Waiting {
        var source: SessionSources.Source
        var session: SessionName
        var request: RefreshRequest
    }

    private let registry: SessionRegistry
    private let configuration: LiveConfiguration
    private let phase: AgentPhase
    private let work: PendingWork
    private let memory: SealedMemory
    private let timekeeper: any Timekeeper
    /// The refreshes that wait; set once they exist.
    weak var refreshes: (any SourceAwaiting)?
    private var waiting: [WaiterID: Waiting] = [:]
    /// The token of each source that was last sent as an assertion.
    private var shown: [SessionName: SecretID] = [:]
    /// The next waiter ID, counted down from the maximum so that it never equals that of a program's request.
    private var next = UInt64.max

    init(
        registry: SessionRegistry,
        configuration: LiveConfiguration,
        phase: AgentPhase,
        work: PendingWork,
        memory: SealedMemory,
        timekeeper: any Timekeeper
    ) {
        self.registry = registry
        self.configuration = configuration
        self.phase = phase
        self.work = work
        self.memory = memory
        self.timekeeper = timekeeper
    }

    /// Returns whether every source of `name` has a usable token.
    ///
    /// If not, the request continues once they have.
    func areReady(for request: RefreshRequest, of name: SessionName) -> Bool {
        guard let sources = registry[name]?.settings.sources.all, !sources.isEmpty else { return true }
        return !asks(sources, for: request, of: name)
    }

    /// Requests a token from the first of `sources` that has no usable one.
    ///
    /// - Returns: `false` if all of them have one.
    private func asks(
        _ sources: some Sequence<SessionSources.Source>,
        for request: RefreshRequest,
        of name: SessionName
    ) -> Bool {
        for source in sources {
            let need = TokenRequirements(of: source, deadline: timekeeper.now)
            let session = registry[source.session]?.session
            let spent = spentToken(of: source)
            guard session?.meets(need, at: timekeeper.now) != true || spent != nil else { continue }
            ask(Waiting(source: source, session: name, request: request), replacing: spent)
            return true
        }
        return false
    }

    /// Returns the current token of `source` if it must not be sent again and can be replaced, otherwise
    /// `nil`.
    private func spentToken(of source: SessionSources.Source) -> SecretID? {
        guard source.isShownOnce, let session = registry[source.session]?.session, session.canRefresh,
            let token = session.token(
                for: TokenRequirements(of: source, deadline: timekeeper.now),
                at: timekeeper.now
            ),
            shown[source.session] == token.secret
        else { return nil }
        return token.secret
    }

    /// Requests a token from the source, other than `spent`.
    private func ask(_ renewal: Waiting, replacing spent: SecretID?) {
        let waiter = WaiterID(rawValue: next)
        next -= 1
        waiting[waiter] = renewal
        let source = renewal.source
        guard registry[source.session] != nil else {
            return work.later { [self] in fail(waiter, .absent(source.session)) }
        }
        registry.apply(source.session) { session, moment in
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
        refreshes?.tokenRequest(source.session)
    }

    /// Returns the current tokens of the sources of `name`.
    ///
    /// - Throws: `RefreshFailure` if one is not available without waiting.
    func tokens(for name: SessionName) throws(RefreshFailure) -> SubjectAndActorTokens {
        guard let sources = registry[name]?.settings.sources else { return SubjectAndActorTokens() }
        let tokens = SubjectAndActorTokens(
            subject: try secret(of: sources.subject),
            actor: try secret(of: sources.actor)
        )
        if let subject = sources.subject, subject.isShownOnce { shown[subject.session] = tokens.subject }
        return tokens
    }

    private func secret(of source: SessionSources.Source?) throws(RefreshFailure) -> SecretID? {
        guard let source else { return nil }
        guard let session = registry[source.session]?.session else { throw .absent(source.session) }
        let token = session.token(
            for: TokenRequirements(of: source, deadline: timekeeper.now),
            at: timekeeper.now
        )
        guard let secret = source.usesIDToken ? token?.idToken?.secret : token?.secret else {
            let message = "source session \(source.session) has no token now"
            throw RefreshFailure(kind: .sourceUnavailable, message: message)
        }
        return secret
    }

    /// Handles the response of a source if a refresh waits for it here.
    func answer(_ waiter: WaiterID, _ reply: Reply) {
        guard let renewal = waiting[waiter] else { return }
        switch reply {
        case .token: work.later { [self] in proceed(waiter) }
        case .failure(let failure):
            let failure = RefreshFailure(failure, of: renewal.source.session)
            work.later { [self] in fail(waiter, failure) }
        }
    }

    /// Continues the refresh.
    ///
    /// The source's token is checked again when the request is sent.
    private func proceed(_ waiter: WaiterID) {
        guard let renewal = waiting.removeValue(forKey: waiter), let kept = current(renewal) else {
            return
        }
        let others = kept.settings.sources.all.drop { $0 != renewal.source }.dropFirst()
        guard !asks(others, for: renewal.request, of: renewal.session) else { return }
        refreshes?.queue(.send(renewal.request), for: kept)
    }

    private func fail(_ waiter: WaiterID, _ failure: RefreshFailure) {
        guard let renewal = waiting.removeValue(forKey: waiter), current(renewal) != nil else {
            return
        }
        let attempt = renewal.request.attempt
        refreshes?.refreshFinished(attempt, .failed(failure), for: renewal.session)
    }

    /// Returns the session of the refresh, or `nil` if the refresh was given up meanwhile.
    private func current(_ renewal: Waiting) -> SessionEntry? {
        guard phase.current == .working, let kept = registry[renewal.session],
            kept.session.attemptInFlight == renewal.request.attempt
        else { return nil }
        return kept
    }

    /// Fails the refreshes that wait for a session that was removed from the configuration.
    func refuseAll(of source: SessionName) {
        for (waiter, renewal) in waiting where renewal.source.session == source {
            fail(waiter, .absent(source))
        }
    }

    /// Makes the source of `name` replace the token that a server rejected.
    func recordRefusal(of tokens: SubjectAndActorTokens, for name: SessionName) {
        guard let source = registry[name]?.settings.sources.subject, let token = tokens.subject,
            registry[source.session] != nil
        else { return }
        // Nothing waits for the result: the source's next event reports it.
        let waiter = WaiterID(rawValue: next)
        next -= 1
        let fingerprint = memory.fingerprint(of: token)
        registry.apply(source.session) { session, moment in
            session.tokenRefused(by: waiter, token, fingerprint, deadline: moment.now, at: moment)
        }
    }

    /// Gives up the refresh of a session that is removed from the configuration.
    ///
    /// - Returns: `true` if one was waiting, so that nothing of it was sent.
    func giveUp(for name: SessionName) -> Bool {
        let own = waiting.filter { $0.value.session == name }
        for (waiter, renewal) in own {
            waiting[waiter] = nil
            registry.apply(renewal.source.session) { session, _ in session.requestWithdrawn(by: waiter) }
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
    func follow(_ event: SessionEvent, of name: SessionName) {
        let derived = configuration.derived[name]
        guard !derived.isEmpty, let change = SourceChange(event) else { return }
        // The source's own reaction to the event comes first.
        work.later { [self] in
            guard phase.isServing, let source = registry[name]?.session else { return }
            for session in derived where !isUseless(change, of: source, for: session) {
                follow(change, of: source, for: session)
            }
        }
    }

    /// Returns whether the source has a new token, but still not the ID token that `name` requires.
    private func isUseless(_ change: SourceChange, of source: Session, for name: SessionName) -> Bool {
        guard change == .renewed, let sources = registry[name]?.settings.sources.all else {
            return false
        }
        return sources.contains { $0.session == source.name && $0.usesIDToken }
            && source.isIDTokenExpired(of: .primary, at: timekeeper.now)
    }

    /// Compares derived sessions with the settings and with the state of their sources.
    ///
    /// The settings may have changed while no agent was running. A record may be older than the end of its
    /// source, or than another login there: the agent may have been killed in between, or not have had the
    /// session in its configuration.
    func compare() {
        for (name, kept) in registry.entries where kept.session.isOfOtherSettings {
            registry.apply(name) { session, moment in session.registrationChanged(at: moment) }
        }
        var changes: [SessionName: (change: SourceChange, source: Session)] = [:]
        for source in configuration.derived.sources {
            guard let session = registry[source]?.session else { continue }
            for name in configuration.derived[source] {
                guard let began = registry[name]?.session.loginBegan else { continue }
                if session.loginBegan == nil, !session.policy.startsByItself {
                    changes[name] = (.ended, session)
                } else if let source = session.loginBegan, source > began, changes[name] == nil {
                    changes[name] = (.returned, session)
                }
            }
        }
        for name in configuration.derived.all {
            guard let (change, source) = changes[name] else { continue }
            follow(change, of: source, for: name)
        }
    }

    private func follow(_ change: SourceChange, of source: Session, for name: SessionName) {
        registry.apply(name) { session, moment in
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
        case .temporarilyUnavailable(let message, let delay, let remedy):
            self.init(
                kind: .sourceUnavailable,
                message: "\(whose): \(message)",
                minimumDelay: delay,
                remedy: remedy
            )
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
