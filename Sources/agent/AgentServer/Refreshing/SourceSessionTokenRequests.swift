// SPDX-License-Identifier: MIT

import SecretMemory
import Text
import TokenCore

/// The refreshes of sources.
protocol SourceRefreshing: AnyObject {
    /// Records that a request waits for the refresh of `name`.
    func tokenRequest(_ name: SessionName)
}

/// The requests for source tokens, from which other sessions' tokens are made (RFC 8693).
///
/// They work like requests of programs, so that one refresh of a source serves all.
///
/// - Entry points: ``waitUntilReady(for:of:)``, ``tokens(for:)``, ``follow(_:of:)``.
/// - Runs on: the agent's event loop, to which it is confined.
final class SourceSessionTokenRequests {
    /// A refresh that waits until a source has a token.
    private struct Waiting {
        var source: SessionName
        var session: SessionName
        /// The task of the refresh, which gets the source's response, or `nil` if the refresh is given up.
        var task: CheckedContinuation<Result<Void, RefreshFailure>?, Never>
    }

    private let registry: SessionRegistry
    private let configuration: LiveConfiguration
    private let phase: AgentPhase
    private let work: PendingWork
    private let memory: SealedMemory
    private let timekeeper: any Timekeeper
    /// The refreshes of the sources; set once they exist.
    weak var refreshes: (any SourceRefreshing)?
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

    /// Waits until every source of the session has a usable token, if there are any.
    ///
    /// - Returns: `false` if the attempt was given up meanwhile, or the agent locks or stops.
    /// - Throws: `RefreshFailure` if a source gets no token.
    func waitUntilReady(
        for attempt: AttemptNumber,
        of entry: SessionEntry
    ) async throws(RefreshFailure) -> Bool {
        for source in entry.settings.sources.all {
            guard phase.current == .working, entry.session.attemptInFlight == attempt else { return true }
            let need = TokenRequirements(of: source, deadline: timekeeper.now)
            let spent = spentToken(of: source)
            let isMet = registry[source.session]?.session.meets(need, at: timekeeper.now) == true
            guard !isMet || spent != nil else { continue }
            guard let answer = await ask(source, for: entry.session.name, replacing: spent),
                phase.current == .working, entry.session.attemptInFlight == attempt
            else { return false }
            try answer.get()
        }
        return true
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

    /// Requests a token from a source, other than `spent`, and waits for it.
    private func ask(
        _ source: SessionSources.Source,
        for name: SessionName,
        replacing spent: SecretID?
    ) async -> Result<Void, RefreshFailure>? {
        guard registry[source.session] != nil else { return .failure(.absent(source.session)) }
        let waiter = WaiterID(rawValue: next)
        next -= 1
        return await withCheckedContinuation { task in
            waiting[waiter] = Waiting(source: source.session, session: name, task: task)
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
            work.end()
        }
    }

    private func resume(_ waiter: WaiterID, _ answer: Result<Void, RefreshFailure>?) {
        guard let refresh = waiting.removeValue(forKey: waiter) else { return }
        work.begin()
        refresh.task.resume(returning: answer)
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
        guard let source = waiting[waiter]?.source else { return }
        switch reply {
        case .token: resume(waiter, .success(()))
        case .failure(let failure): resume(waiter, .failure(RefreshFailure(failure, of: source)))
        }
    }

    /// Fails the refreshes that wait for a session that was removed from the configuration.
    func refuseAll(of source: SessionName) {
        for (waiter, refresh) in waiting where refresh.source == source {
            resume(waiter, .failure(.absent(source)))
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

    /// Gives up the refresh of a session that is removed from the configuration, if it waits here.
    func giveUp(for name: SessionName) {
        for (waiter, refresh) in waiting where refresh.session == name {
            resume(waiter, nil)
            registry.apply(refresh.source) { session, _ in session.requestWithdrawn(by: waiter) }
        }
    }

    /// Drops all state, as the agent locks or stops.
    func forget() {
        for waiter in waiting.keys { resume(waiter, nil) }
        shown = [:]
    }
}

// MARK: Logins and logouts of sources

extension SourceSessionTokenRequests {
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
        switch event.name {
        case .loggedIn: self = .returned
        case .refreshed: self = .renewed
        case .loginRequired: self = .ended
        // The late result of a revocation, which has a reason, changes nothing.
        case .loggedOut where event.reason == nil: self = .ended
        default: return nil
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
