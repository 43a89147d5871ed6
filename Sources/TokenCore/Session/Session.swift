// SPDX-License-Identifier: MIT

/// One login and everything decided about it: a pure state machine.
///
/// Events come in as method calls with the time and the chance they need; what to do comes out as ``Effect``s
/// to be run in order. It holds identifiers, never secret bytes, so a state can be printed and compared.
///
/// A login under way is not a state: a person may log in again while the old login is being served, so it is
/// kept beside the state, and ``SessionStatus`` shows it only when there is nothing else to show.
package struct Session: Sendable {
    /// Where the session stands.
    ///
    /// Indirect, because most sessions are in a small state: otherwise each would take the room of the
    /// largest.
    indirect enum State: Equatable, Sendable {
        /// No login, or one that is over; callers are told to log in unless an access token outlived it.
        /// Next: `probing` when a refusal is to be checked, `ready` when a login is committed; `refreshing` for a
        /// session that starts by itself.
        case loggedOut(EndedLogin)
        /// Logged out for callers, while one request checks whether the server meant it.
        /// Next: `ready` if it works, else `loggedOut`.
        case probing(EndedLogin, Login, Attempt)
        /// Over; a login without a person is being tried, and callers wait for it.
        /// Next: `ready` when it worked, else `loggedOut`.
        case reauthenticating(EndedLogin, LoginNumber)
        /// Serving, next refresh planned. Next: `refreshing` when due or asked for, `loggedOut` at the end.
        case ready(Login)
        /// One request in flight; the present token is served while it is good.
        /// Next: `ready`, `retrying`, `suspended` or `loggedOut`, by its outcome.
        case refreshing(Login, Attempt)
        /// The last attempt failed temporarily, the next is planned. Next: `refreshing`, `loggedOut`.
        case retrying(Login, RetryState)
        /// Something has to be fixed by hand; the refresh token is kept.
        /// Next: `refreshing` when asked for, after a reload, or every six hours.
        case suspended(Login, Suspension)
    }

    /// A login under way beside the state.
    indirect enum LoginProgress: Equatable, Sendable {
        /// The person and the server are at it.
        case conversing(LoginNumber)
        /// Granted; its record is being made durable. No refresh starts meanwhile.
        case committing(LoginNumber, Login, CommitNumber)

        var number: LoginNumber {
            switch self {
            case .conversing(let number), .committing(let number, _, _): number
            }
        }
    }

    package let name: SessionName
    package internal(set) var policy: SessionPolicy { didSet { revision &+= 1 } }
    var state: State { didSet { revision &+= 1 } }
    /// Changes with everything that a ``CachedToken`` depends on.
    package private(set) var revision: UInt64 = 0
    var progress: LoginProgress?
    var waiters = Waiters()
    var variantUse = VariantUse()
    var history = RefreshHistory()
    var storage = StorageHealth()
    /// When it was read from its record; a refresh that was due by then has the reason `start`.
    var restoredAt: Instant?
    var stepsSinceStart = ClockStepsSinceStart()
    private var attempts: UInt64 = 0
    private var commits: UInt64 = 0
    private var silentLogins: UInt64 = 0

    /// A session nobody has logged in to yet.
    package init(name: SessionName, policy: SessionPolicy) {
        self.name = name
        self.policy = policy
        state = .loggedOut(
            EndedLogin(reason: .neverLoggedIn, message: "nobody has logged in yet", afterlife: .none)
        )
    }

    /// The login that is kept alive, or `nil` when there is none.
    var login: Login? {
        switch state {
        case .loggedOut, .probing, .reauthenticating: nil
        case .ready(let login), .refreshing(let login, _), .retrying(let login, _), .suspended(let login, _):
            login
        }
    }

    /// The key that the served tokens are bound to (RFC 9449); `nil`: they are bound to none.
    package var proofKey: SecretID? { servable?.proofKey }

    /// The login whose tokens may be served: the live one, or one that ended with a token still good.
    var servable: Login? {
        switch state {
        case .loggedOut(let ended), .probing(let ended, _, _), .reauthenticating(let ended, _):
            policy.tokensOutliveLogin ? ended.login : nil
        case .ready, .refreshing, .retrying, .suspended: login
        }
    }

    /// The token of the login itself, good or not.
    package var primaryToken: AccessToken? { servable?.primary }

    /// Every token of the login, good or not.
    package var heldTokens: [TokenVariant: AccessToken] { servable?.tokens ?? [:] }

    /// By when the session has to be renewed so that nothing is lost: its token or its login ends then.
    package var neededBy: Instant? {
        [servable?.primary?.expiresAt, login?.knownEnd].compactMap(\.self).min()
    }

    /// The attempt under way, whichever step it is at.
    package var attemptInFlight: AttemptNumber? { currentAttempt?.number }
    /// A live login is being renewed.
    package var isRefreshing: Bool {
        if case .refreshing = state { true } else { false }
    }
    /// Why the attempt with this number is made; `nil`: it is not under way any more.
    package func reason(of attempt: AttemptNumber) -> RefreshReason? {
        currentAttempt.flatMap { $0.number == attempt ? $0.reason : nil }
    }
    /// The attempt under way sends a refresh token whose last answer is missing.
    package var isReplaying: Bool { currentAttempt?.isReplay ?? false }
    /// The refresh request is out, or about to be, and its answer has not come.
    package var awaitsAnswer: Bool { currentAttempt?.phase == .sending }

    /// Changes what is known of the login wherever it stands: live, over, or in an answer that is being stored.
    mutating func changeLogins(_ change: (inout Login) -> Void) {
        switch state {
        case .loggedOut(var ended):
            ended.afterlife.changeLogin(change)
            state = .loggedOut(ended)
        case .probing(var ended, var login, var attempt):
            ended.afterlife.changeLogin(change)
            change(&login)
            attempt.changeAnswer(change)
            state = .probing(ended, login, attempt)
        case .reauthenticating(var ended, let number):
            ended.afterlife.changeLogin(change)
            state = .reauthenticating(ended, number)
        case .ready(var login):
            change(&login)
            state = .ready(login)
        case .refreshing(var login, var attempt):
            change(&login)
            attempt.changeAnswer(change)
            state = .refreshing(login, attempt)
        case .retrying(var login, let setback):
            change(&login)
            state = .retrying(login, setback)
        case .suspended(var login, let suspension):
            change(&login)
            state = .suspended(login, suspension)
        }
    }

    mutating func nextAttempt() -> AttemptNumber {
        attempts += 1
        return AttemptNumber(rawValue: attempts)
    }

    /// Counts down from the largest number, so that it never meets those the agent gives to people's logins.
    mutating func nextSilentLogin() -> LoginNumber {
        silentLogins += 1
        return LoginNumber(rawValue: .max - silentLogins)
    }

    mutating func nextCommit() -> CommitNumber {
        commits += 1
        return CommitNumber(rawValue: commits)
    }
}

/// Whether the present record is safe on disk.
struct StorageHealth: Equatable, Sendable {
    var outcome: CommitOutcome = .durable
    var failures = 0
    /// When the record is written again, because the last one is not safe or no longer up to date.
    private(set) var retryAt: Instant?

    /// Something has to be stored although no answer of a server brought it.
    mutating func owe(at now: Instant) { retryAt = min(retryAt ?? now, now) }

    /// A record is being written.
    mutating func beginWriting() { retryAt = nil }

    mutating func wrote(_ outcome: CommitOutcome, at now: Instant) {
        self.outcome = outcome
        guard outcome != .durable else {
            failures = 0
            return
        }
        failures += 1
        retryAt = now + RetrySchedule.recommitDelay(failures: failures)
    }
}
