// SPDX-License-Identifier: MIT

/// One session with its login and all decisions about it, as a pure state machine.
///
/// Events arrive as method calls, with the time and the random number that they need. ``Effect``s are
/// returned, to be executed in order. The session contains identifiers, never secret bytes, so a state can be
/// printed and compared.
///
/// A login in progress is not a state, because the user may log in again while the old login is served. It is
/// kept next to the state, and ``SessionStatus`` shows it only if there is nothing else to show.
///
/// - Entry points: ``tokenRequested(by:_:at:)``, ``refreshFinished(_:_:jitter:at:)``,
///   ``timeReached(_:jitter:)``.
/// - May not: use a clock, a random number generator, files or the network.
package struct Session: Sendable {
    /// The state of the session.
    ///
    /// It is indirect because most sessions are in a small state. Otherwise each would need the space of the
    /// largest.
    indirect enum State: Equatable, Sendable {
        /// There is no login, or it has ended. Requests require a login unless an access token outlived it.
        ///
        /// Next: `probing` when a rejection is checked, `ready` when a login is committed; `refreshing` for a
        /// session that starts by itself.
        case loggedOut(EndedLogin)
        /// The session counts as logged out while its refresh token is tried once more.
        ///
        /// Next: `ready` if the server accepts the token, else `loggedOut`.
        case probing(EndedLogin, Login, Attempt)
        /// The login has ended, and requests wait for a noninteractive login.
        ///
        /// Next: `ready` if it worked, else `loggedOut`.
        case reauthenticating(EndedLogin, LoginNumber)
        /// Tokens are served, and the next refresh is planned.
        ///
        /// Next: `refreshing` when due or requested, `loggedOut` at the end.
        case ready(Login)
        /// One attempt is in flight. The current token is served while it is valid.
        ///
        /// Next: `ready`, `retrying`, `suspended` or `loggedOut`, depending on the result.
        case refreshing(Login, Attempt)
        /// The last attempt failed temporarily, and the next is planned. Next: `refreshing`, `loggedOut`.
        case retrying(Login, RetryState)
        /// The user has to correct something. The refresh token is kept.
        ///
        /// Next: `refreshing` when requested, after a reload, or every six hours.
        case suspended(Login, RefreshSuspension)
    }

    /// A login in progress, kept next to the state.
    indirect enum LoginProgress: Equatable, Sendable {
        /// The user and the server are logging in.
        case conversing(LoginNumber)
        /// The login is granted, and its record is being made durable. No refresh starts meanwhile.
        case committing(LoginNumber, Login, CommitNumber)

        var number: LoginNumber {
            switch self {
            case .conversing(let number), .committing(let number, _, _): number
            }
        }
    }

    package let name: SessionName
    package internal(set) var policy: SessionPolicy { didSet { revision &+= 1 } }
    private(set) var state: State { didSet { revision &+= 1 } }
    /// A number that changes with everything that a ``CachedToken`` depends on.
    package private(set) var revision: UInt64 = 0
    var progress: LoginProgress?
    var waiters = Waiters()
    var variantUse = VariantUse()
    var history = RefreshHistory()
    var storage = StorageHealth()
    /// The time at which the session was restored.
    ///
    /// A refresh that was due by then has the reason `start`.
    var restoredAt: Instant?
    var stepsSinceStart = ClockStepsSinceStart()
    private var attempts: UInt64 = 0
    private var commits: UInt64 = 0
    private var noninteractiveLogins: UInt64 = 0

    /// Creates a session without any login yet.
    package init(name: SessionName, policy: SessionPolicy) {
        self.name = name
        self.policy = policy
        state = .loggedOut(
            EndedLogin(reason: .neverLoggedIn, message: "not logged in", afterlife: .none)
        )
    }

    /// Creates a session in the state that its record describes.
    init(name: SessionName, policy: SessionPolicy, restored state: State) {
        self.init(name: name, policy: policy)
        self.state = state
    }

    /// Changes the state; every change does so here.
    ///
    /// - Precondition: `next` has the same name as the present state, or is one of its ``State/Name/followers``.
    mutating func become(_ next: State) {
        assert(
            state.name == next.name || State.Name.followers[state.name]?.contains(next.name) == true,
            "\(state.name) to \(next.name)"
        )
        state = next
    }

    /// The login that is kept alive, or `nil` if there is none.
    var login: Login? {
        switch state {
        case .loggedOut, .probing, .reauthenticating: nil
        case .ready(let login), .refreshing(let login, _), .retrying(let login, _), .suspended(let login, _):
            login
        }
    }

    /// The key that the served tokens are bound to (RFC 9449), or `nil` if there is none.
    package var proofKey: SecretID? { servable?.proofKey }

    /// The login whose tokens may be served: the live one, or one that ended before its token.
    var servable: Login? {
        switch state {
        case .loggedOut(let ended), .probing(let ended, _, _), .reauthenticating(let ended, _):
            policy.tokensOutliveLogin ? ended.login : nil
        case .ready, .refreshing, .retrying, .suspended: login
        }
    }

    /// The login's own token, valid or not.
    package var primaryToken: AccessToken? { servable?.primary }

    /// All tokens of the login, valid or not.
    package var heldTokens: [TokenVariant: AccessToken] { servable?.tokens ?? [:] }

    /// The time by which the session has to be renewed: the earlier end of its token or its login.
    var neededBy: Instant? {
        [servable?.primary?.expiresAt, login?.knownEnd].compactMap(\.self).min()
    }

    /// The number of the attempt in flight, in any phase.
    package var attemptInFlight: AttemptNumber? { currentAttempt?.number }
    /// Whether a live login is being renewed.
    package var isRefreshing: Bool {
        if case .refreshing = state { true } else { false }
    }
    /// Returns the reason for the attempt with this number, or `nil` if it is no longer in flight.
    package func reason(of attempt: AttemptNumber) -> RefreshReason? {
        currentAttempt.flatMap { $0.number == attempt ? $0.reason : nil }
    }
    /// Whether the attempt in flight sends a refresh token whose last response is missing.
    var isReplaying: Bool { currentAttempt?.isReplay ?? false }
    /// Whether the refresh request is in flight, or about to be, and its response has not arrived.
    var awaitsAnswer: Bool { currentAttempt?.phase == .sending }

    /// Changes the data of the login in every state: live, ended, or in a response that is being stored.
    mutating func changeLogins(_ change: (inout Login) -> Void) {
        switch state {
        case .loggedOut(var ended):
            ended.afterlife.changeLogin(change)
            become(.loggedOut(ended))
        case .probing(var ended, var login, var attempt):
            ended.afterlife.changeLogin(change)
            change(&login)
            attempt.changeAnswer(change)
            become(.probing(ended, login, attempt))
        case .reauthenticating(var ended, let number):
            ended.afterlife.changeLogin(change)
            become(.reauthenticating(ended, number))
        case .ready(var login):
            change(&login)
            become(.ready(login))
        case .refreshing(var login, var attempt):
            change(&login)
            attempt.changeAnswer(change)
            become(.refreshing(login, attempt))
        case .retrying(var login, let setback):
            change(&login)
            become(.retrying(login, setback))
        case .suspended(var login, let suspension):
            change(&login)
            become(.suspended(login, suspension))
        }
    }

    /// Numbers the attempts from a time on, so that the numbers of a session that is loaded later are greater.
    package mutating func numberAttempts(after start: Instant) {
        attempts = UInt64(clamping: start.nanoseconds)
    }

    mutating func nextAttempt() -> AttemptNumber {
        attempts += 1
        return AttemptNumber(rawValue: attempts)
    }

    /// Returns the next number, counting down from the largest, so that it never equals the agent's login
    /// numbers.
    mutating func nextNoninteractiveLogin() -> LoginNumber {
        noninteractiveLogins += 1
        return LoginNumber(rawValue: .max - noninteractiveLogins)
    }

    mutating func nextCommit() -> CommitNumber {
        commits += 1
        return CommitNumber(rawValue: commits)
    }
}

/// The durability of the current record.
struct StorageHealth: Equatable, Sendable {
    var outcome: CommitDurability = .durable
    var failures = 0
    /// The time at which the record is written again, because the last one is not durable or out of date.
    private(set) var retryAt: Instant?

    /// Plans a write of the record for a change that no server response caused.
    mutating func owe(at now: Instant) { retryAt = min(retryAt ?? now, now) }

    /// Records that a write begins.
    mutating func beginWriting() { retryAt = nil }

    mutating func wrote(_ outcome: CommitDurability, at now: Instant) {
        self.outcome = outcome
        guard outcome != .durable else {
            failures = 0
            return
        }
        failures += 1
        retryAt = now + RetrySchedule.recommitDelay(failures: failures)
    }
}

extension Session.State {
    /// A state without its data.
    enum Name: Hashable, Sendable {
        case loggedOut, probing, reauthenticating, ready, refreshing, retrying, suspended

        /// For each state, those that may follow it.
        static let followers: [Name: Set<Name>] = [
            .loggedOut: [.probing, .reauthenticating, .ready, .refreshing, .retrying],
            .probing: [.loggedOut, .ready, .reauthenticating],
            .reauthenticating: [.loggedOut, .ready],
            .ready: [.refreshing, .retrying, .suspended, .loggedOut, .reauthenticating],
            .refreshing: [.ready, .retrying, .suspended, .loggedOut, .reauthenticating],
            .retrying: [.refreshing, .ready, .suspended, .loggedOut, .reauthenticating],
            .suspended: [.refreshing, .ready, .retrying, .loggedOut, .reauthenticating],
        ]
    }

    var name: Name {
        switch self {
        case .loggedOut: .loggedOut
        case .probing: .probing
        case .reauthenticating: .reauthenticating
        case .ready: .ready
        case .refreshing: .refreshing
        case .retrying: .retrying
        case .suspended: .suspended
        }
    }
}
