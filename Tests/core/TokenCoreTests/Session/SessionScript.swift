// SPDX-License-Identifier: MIT

import Text

@testable import TokenCore

/// A session and a clock that only the test moves, with shorthand for the usual events.
struct SessionScript {
    static let accessToken = SecretID(rawValue: 1)
    static let refreshToken = SecretID(rawValue: 2)
    static let idToken = SecretID(rawValue: 3)

    var session: Session
    var moment: Moment
    private var nextWaiter: UInt64 = 100
    private var nextSecret: UInt64 = 1000

    /// A session that is logged in with an access token of this lifetime and a refresh token.
    static func ready(
        lifetime: Duration? = .seconds(600),
        policy: SessionPolicy = SessionPolicy(),
        renewal: RenewalMethod = .refreshToken(refreshToken),
        refreshLifetime: Duration? = nil,
        idToken: SecretID? = nil,
        idTokenLifetime: Duration? = nil,
        name: String = "work"
    ) -> SessionScript {
        var script = SessionScript(policy: policy, name: name)
        let tokens = GrantedTokens(
            accessToken: accessToken,
            idToken: idToken.map { script.idToken($0, lifetime: idTokenLifetime) },
            refreshToken: SessionScript.refreshToken,
            lifetime: lifetime,
            refreshLifetime: refreshLifetime.map { RefreshLifetime($0) },
            requestedAt: script.moment.now
        )
        let login = LoginNumber(rawValue: 1)
        let grant = LoginGrant(tokens: tokens, renewal: renewal, tokenEndpoint: "https://id.example/token")
        _ = script.session.loginStarted(login, at: script.moment)
        let effects = script.session.loginFinished(login, .granted(grant), jitter: 0, at: script.moment)
        script.commitAll(effects)
        return script
    }

    init(policy: SessionPolicy = SessionPolicy(), name: String = "work") {
        session = Session(name: .named(name), policy: policy)
        moment = Moment(now: .seconds(1_000_000), wallTime: WallTime(secondsSince1970: 1_800_000_000))
    }

    mutating func advance(by duration: Duration) {
        moment = Moment(now: moment.now + duration, wallTime: moment.wallTime + duration)
    }

    /// Sets the wall clock; no time passes on the boot-time clock.
    mutating func stepWallClock(by step: Duration, statedEnds: [SecretID: WallTime] = [:]) {
        moment = Moment(now: moment.now, wallTime: moment.wallTime + step)
        session.wallClockStepped(by: step, statedEnds: statedEnds, at: moment)
    }

    mutating func get(
        _ variant: TokenVariant = .primary,
        minimum: Duration? = nil,
        wait: Duration = .seconds(30),
        idToken: Bool = false,
        isForeign: Bool = false,
        reportsRefusals: Bool = false,
        wantsLiveLogin: Bool = false
    ) -> (WaiterID, [Effect]) {
        nextWaiter += 1
        let waiter = WaiterID(rawValue: nextWaiter)
        let need = TokenRequirements(
            variant: variant,
            minimumValidity: minimum,
            wantsIDToken: idToken,
            reportsRefusals: reportsRefusals,
            deadline: moment.now + wait,
            isForeign: isForeign,
            wantsLiveLogin: wantsLiveLogin
        )
        return (waiter, session.tokenRequested(by: waiter, need, at: moment))
    }

    /// Requests a refresh as the user does.
    mutating func force() -> [Effect] {
        nextWaiter += 1
        let waiter = WaiterID(rawValue: nextWaiter)
        let deadline = moment.now + .seconds(30)
        return session.refreshRequested(by: waiter, rejecting: nil, deadline: deadline, at: moment)
    }

    /// Reports that a server has rejected `secret`.
    mutating func refuse(_ secret: SecretID, _ fingerprint: TokenFingerprint? = nil) -> (WaiterID, [Effect]) {
        nextWaiter += 1
        let waiter = WaiterID(rawValue: nextWaiter)
        let deadline = moment.now + .seconds(30)
        return (waiter, session.tokenRefused(by: waiter, secret, fingerprint, deadline: deadline, at: moment))
    }

    /// The session after a restart of the agent.
    func restarted() -> SessionScript {
        guard let snapshot = session.snapshot(at: moment) else { return self }
        var copy = self
        copy.session = Session(
            restoring: snapshot,
            name: session.name,
            policy: session.policy,
            interruption: nil,
            at: moment
        )
        return copy
    }

    mutating func tick(jitter: Double = 0) -> [Effect] {
        session.timeReached(moment, jitter: jitter)
    }

    /// Moves the clock to the session's own wake time and lets it act.
    mutating func sleepUntilWake(jitter: Double = 0) -> [Effect] {
        guard let wake = session.wakeTime else { return [] }
        if wake > moment.now { advance(by: wake - moment.now) }
        return tick(jitter: jitter)
    }

    private func idToken(_ secret: SecretID, lifetime: Duration?) -> IDToken {
        let end = lifetime.map { moment.now + $0 }
        return IDToken(secret: secret, life: ValidityPeriod(obtainedAt: moment.now, expiresAt: end))
    }

    func granted(
        lifetime: Duration? = .seconds(600),
        refreshToken: SecretID? = nil,
        refreshLifetime: RefreshLifetime? = nil,
        secret: UInt64 = 500,
        idToken: SecretID? = nil,
        idTokenLifetime: Duration? = nil,
        fingerprint: TokenFingerprint? = nil,
        origin: IssuanceContext? = nil
    ) -> RefreshOutcome {
        .granted(
            GrantedTokens(
                accessToken: SecretID(rawValue: secret),
                idToken: idToken.map { self.idToken($0, lifetime: idTokenLifetime) },
                refreshToken: refreshToken,
                lifetime: lifetime,
                refreshLifetime: refreshLifetime,
                requestedAt: moment.now,
                fingerprint: fingerprint,
                origin: origin
            )
        )
    }

    /// A login that the server has granted just now.
    func loginGrant(proofKey: SecretID? = nil) -> LoginGrant {
        LoginGrant(
            tokens: GrantedTokens(
                accessToken: SecretID(rawValue: 700),
                refreshToken: SecretID(rawValue: 701),
                lifetime: .seconds(600),
                requestedAt: moment.now
            ),
            renewal: .refreshToken(SecretID(rawValue: 701)),
            tokenEndpoint: "https://id.example/token",
            proofKey: proofKey
        )
    }

    /// Grants the reservation among `effects`, and returns the request to send.
    mutating func reserve(_ effects: [Effect]) -> RefreshRequest? {
        for case .begin(let number) in effects {
            _ = session.reservationFinished(number, .granted, jitter: 0, at: moment)
            return session.request(of: number)
        }
        return nil
    }

    /// Answers the refresh that `effects` begins, and commits the result.
    mutating func answer(_ effects: [Effect], _ outcome: RefreshOutcome, jitter: Double = 0) -> [Effect] {
        guard let request = reserve(effects) else { return [] }
        let next = session.refreshFinished(request.attempt, outcome, jitter: jitter, at: moment)
        return next + commitAll(next)
    }

    @discardableResult
    mutating func commitAll(_ effects: [Effect], _ outcome: CommitDurability = .durable) -> [Effect] {
        var all: [Effect] = []
        for case .commit(let number, _) in effects {
            all += session.commitFinished(number, outcome, at: moment)
        }
        return all
    }

    mutating func fail(_ effects: [Effect], _ kind: FailureClass, retryAfter: Duration? = nil) -> [Effect] {
        let failure = RefreshFailure(kind: kind, message: "no luck", retryAfter: retryAfter)
        return answer(effects, .failed(failure))
    }
}

extension [Effect] {
    /// The answer to `waiter`, if there is exactly one.
    func reply(to waiter: WaiterID) -> Reply? {
        let replies = compactMap { effect -> Reply? in
            guard case .reply(waiter, let reply) = effect else { return nil }
            return reply
        }
        return replies.count == 1 ? replies[0] : nil
    }

    var servedSecrets: [SecretID] {
        compactMap { effect in
            guard case .reply(_, .token(let token)) = effect else { return nil }
            return token.secret
        }
    }

    var sendsRequest: Bool {
        contains { effect in
            if case .begin = effect { true } else { false }
        }
    }

    /// Whether the attempt that begins needs a reservation first.
    func isReserved(in script: SessionScript) -> Bool {
        contains { effect in
            guard case .begin(let number) = effect else { return false }
            return script.session.reservation(of: number, at: script.moment) != nil
        }
    }

    /// The attempt that begins, if it is the first effect.
    var begun: AttemptNumber? {
        guard case .begin(let number)? = first else { return nil }
        return number
    }

    var notified: [EventName] {
        compactMap { effect in
            guard case .notify(let event) = effect else { return nil }
            return event.name
        }
    }
}

extension Reply {
    var isLoginRequired: Bool {
        guard case .failure(.loginRequired) = self else { return false }
        return true
    }

    /// Whether the current token was rejected and the next one is not available yet.
    var isHeldBack: Bool {
        guard case .failure(.tokenRefused) = self else { return false }
        return true
    }

    var isTemporary: Bool {
        guard case .failure(.temporarilyUnavailable) = self else { return false }
        return true
    }

    var secret: SecretID? {
        guard case .token(let token) = self else { return nil }
        return token.secret
    }
}

extension SessionName {
    /// A name known to be valid.
    static func named(_ text: String) -> SessionName {
        guard let name = SessionName(text) else { preconditionFailure("\(text) is no session name") }
        return name
    }
}
