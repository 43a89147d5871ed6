// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

/// A world that performs a session's effects in random order and checks its invariants.
private struct World {
    var session: Session
    var moment = Moment(now: .seconds(1_000_000), wallTime: WallTime(secondsSince1970: 1_800_000_000))
    var generator: SeededGenerator
    var queue = RefreshQueue()
    var postponed: [(attempt: AttemptNumber, opening: Instant)] = []
    var reserving: [AttemptNumber] = []
    var inFlight: [AttemptNumber] = []
    var committing: [CommitNumber] = []
    var revoking = 0
    var login: LoginNumber?
    var noninteractiveLogins: [LoginNumber] = []
    var unanswered: Set<WaiterID> = []
    var erased: Set<SecretID> = []
    var refused: Set<SecretID> = []
    var nextID: UInt64 = 1
    /// The number of times the session had a cached token.
    var stood = 0

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        let policy = SessionPolicy(
            maximumSessionAge: seed % 3 == 0 ? .seconds(20_000) : nil,
            noninteractiveLogins: seed % 2 == 0 ? [.command] : [],
            tokensOutliveLogin: seed % 5 != 0,
            startsByItself: seed % 4 == 0
        )
        session = Session(name: .named("walk"), policy: policy)
    }

    mutating func fresh() -> UInt64 {
        nextID += 1
        return nextID
    }

    mutating func jitter() -> Double { Double.random(in: 0..<1, using: &generator) }

    mutating func run(_ effects: [Effect]) {
        for effect in effects {
            switch effect {
            case .begin(let number): hold(number)
            case .commit(let number, let snapshot):
                check(snapshot.secrets)
                committing.append(number)
            case .revoke(let request):
                check(Set([request.refreshToken, request.accessToken].compactMap(\.self)))
                revoking += 1
            case .reply(let waiter, let reply):
                #expect(unanswered.remove(waiter) != nil, "a waiter was answered twice")
                if case .token(let token) = reply {
                    check([token.secret])
                    #expect(!refused.contains(token.secret), "a refused token was served")
                }
            case .erase(let secret): erased.insert(secret)
            case .finishLogin(let number, _): if number == login { login = nil }
            case .reauthenticate(let number, _, _): noninteractiveLogins.append(number)
            case .release, .discard, .forget, .finishLogout, .notify: break
            }
        }
    }

    private mutating func hold(_ attempt: AttemptNumber) {
        queue.requested(attempt, by: session, at: "https://id.example", now: moment.now)
        admit()
    }

    private mutating func admit() {
        let attempt = session.attemptInFlight
        for action in queue.admit(at: "https://id.example", now: moment.now, attempts: { _ in attempt }) {
            switch action {
            case .admit(_, let attempt): proceed(attempt)
            case .postpone(_, let attempt, let opening): postponed.append((attempt, opening))
            case .abandon: break
            }
        }
    }

    /// Reserves or sends what the session says of its attempt.
    private mutating func proceed(_ attempt: AttemptNumber) {
        if let snapshot = session.reservation(of: attempt, at: moment) {
            check(snapshot.secrets)
            reserving.append(attempt)
        } else if let request = session.request(of: attempt) {
            if case .refreshToken(let secret) = request.renewal { check([secret]) }
            inFlight.append(request.attempt)
        } else {
            ended(attempt)
        }
    }

    private mutating func ended(_ attempt: AttemptNumber, _ failure: RefreshFailure? = nil) {
        _ = queue.ended(attempt, of: session.name, failure, now: moment.now)
    }

    private func check(_ secrets: Set<SecretID>) {
        #expect(erased.isDisjoint(with: secrets), "an effect mentions an erased secret")
    }

    mutating func tokens(rotating: Bool) -> GrantedTokens {
        GrantedTokens(
            accessToken: SecretID(rawValue: fresh()),
            refreshToken: rotating ? SecretID(rawValue: fresh()) : nil,
            lifetime: [nil, .seconds(0), .seconds(5), .seconds(60), .seconds(900)]
                .randomElement(using: &generator) ?? nil,
            refreshLifetime: Bool.random(using: &generator) ? RefreshLifetime(.seconds(5000)) : nil,
            requestedAt: moment.now,
            fingerprint: TokenFingerprint(
                Array(
                    repeating: UInt8.random(in: 0..<4, using: &generator),
                    count: TokenFingerprint.byteCount
                )
            )
        )
    }

    mutating func step() {
        switch Int.random(in: 0..<15, using: &generator) {
        case 0...2: get()
        case 3: withdraw()
        case 4: elapse()
        case 5...6: finishReservation()
        case 7...8: finishRefresh()
        case 9...10: finishCommit()
        case 11: logInOrFinish()
        case 12: rareEvent()
        case 13: refuse()
        default: force()
        }
        admit()
        for (attempt, opening) in postponed {
            run(session.attemptPostponed(attempt, until: opening, at: moment))
        }
        postponed = []
        checkInvariants()
        checkStanding()
    }

    /// Checks that the session serves a cached token until it expires, and that a request changes nothing.
    mutating func checkStanding() {
        guard let standing = session.cachedToken(at: moment.now) else { return }
        stood += 1
        let (first, waiter) = (moment.now.nanoseconds, WaiterID(rawValue: .max))
        let last = min(standing.until.nanoseconds, first + 10_000_000_000_000) - 1
        for time in [first, Int64.random(in: first...last, using: &generator), last] {
            let then = Moment(now: Instant(nanoseconds: time), wallTime: moment.wallTime)
            var asked = session
            let effects = asked.tokenRequested(by: waiter, TokenRequirements(deadline: then.now), at: then)
            #expect(effects == [.reply(waiter, .token(standing.token))])
            #expect(asked.revision == session.revision)
        }
    }

    mutating func get() {
        let waiter = WaiterID(rawValue: fresh())
        unanswered.insert(waiter)
        let variant =
            [TokenVariant.primary, .primary, TokenVariant(scopes: ["a"], audience: nil)]
            .randomElement(using: &generator) ?? .primary
        let need = TokenRequirements(
            variant: variant,
            minimumValidity: [nil, nil, .seconds(30), .seconds(600)].randomElement(using: &generator) ?? nil,
            deadline: moment.now + .seconds(Int64.random(in: 0...40, using: &generator))
        )
        run(session.tokenRequested(by: waiter, need, at: moment))
    }

    mutating func force() {
        let waiter = WaiterID(rawValue: fresh())
        unanswered.insert(waiter)
        let deadline = moment.now + .seconds(30)
        run(session.refreshRequested(by: waiter, rejecting: nil, deadline: deadline, at: moment))
    }

    /// Reports a rejection of a served token or of an unknown one.
    mutating func refuse() {
        let waiter = WaiterID(rawValue: fresh())
        unanswered.insert(waiter)
        let held = session.heldTokens.values.map(\.secret).min { $0.rawValue < $1.rawValue }
        let print = TokenFingerprint(
            Array(repeating: UInt8.random(in: 0..<4, using: &generator), count: TokenFingerprint.byteCount)
        )
        let deadline = moment.now + .seconds(30)
        let secret = held ?? SecretID(rawValue: 0)
        run(session.tokenRefused(by: waiter, secret, print, deadline: deadline, at: moment))
        if let held { refused.insert(held) }
    }

    mutating func withdraw() {
        guard let waiter = unanswered.min(by: { $0.rawValue < $1.rawValue }) else { return }
        unanswered.remove(waiter)
        run(session.requestWithdrawn(by: waiter))
    }

    mutating func elapse() {
        let seconds = Int64([0, 1, 5, 40, 700, 4000].randomElement(using: &generator) ?? 1)
        moment = Moment(now: moment.now + .seconds(seconds), wallTime: moment.wallTime + .seconds(seconds))
        // Acting can leave the session due again at once (a replay "now"); it must settle, not spin.
        for _ in 0..<4 {
            guard let wake = session.wakeTime, wake <= moment.now else { return }
            run(session.timeReached(moment, jitter: jitter()))
        }
        #expect(session.wakeTime.map { $0 > moment.now } ?? true, "wakeTime stays in the past: \(session)")
    }

    mutating func finishReservation() {
        guard !reserving.isEmpty else { return }
        let number = reserving.removeFirst()
        guard session.attemptInFlight == number else { return ended(number) }
        let answer: ReservationResult = jitter() < 0.2 ? .failed(StorageFailure(message: "full")) : .granted
        run(session.reservationFinished(number, answer, jitter: jitter(), at: moment))
        guard session.attemptInFlight == number else { return ended(number) }
        proceed(number)
    }

    mutating func finishRefresh() {
        guard !inFlight.isEmpty else { return }
        let number = inFlight.removeFirst()
        let kind = FailureClass.allCases.randomElement(using: &generator) ?? .busy
        let retryAfter: Duration? = jitter() < 0.1 ? .seconds(60) : nil
        let failure = RefreshFailure(kind: kind, message: "x", retryAfter: retryAfter)
        let isGranted = jitter() < 0.5
        ended(number, isGranted ? nil : failure)
        let tokens = isGranted ? RefreshOutcome.granted(tokens(rotating: jitter() < 0.5)) : .failed(failure)
        run(session.refreshFinished(number, tokens, jitter: jitter(), at: moment))
    }

    mutating func finishCommit() {
        guard !committing.isEmpty else { return }
        let number = committing.removeFirst()
        let bad = CommitDurability.memoryOnly(StorageFailure(message: "x"))
        run(session.commitFinished(number, jitter() < 0.8 ? .durable : bad, at: moment))
    }

    mutating func logInOrFinish() {
        guard let number = login else {
            let number = LoginNumber(rawValue: fresh())
            run(session.loginStarted(number, at: moment))
            login = number
            return
        }
        run(session.loginFinished(number, loginOutcome(), jitter: jitter(), at: moment))
    }

    mutating func finishNoninteractiveLogin() {
        guard !noninteractiveLogins.isEmpty else { return }
        let number = noninteractiveLogins.removeFirst()
        run(session.noninteractiveLoginFinished(number, loginOutcome(), jitter: jitter(), at: moment))
    }

    mutating func loginOutcome() -> LoginOutcome {
        let tokens = tokens(rotating: true)
        var renewal = tokens.refreshToken.map(RenewalMethod.refreshToken) ?? .impossible
        if session.policy.startsByItself, jitter() < 0.7 { renewal = .withoutLogin }
        let grant = LoginGrant(tokens: tokens, renewal: renewal, tokenEndpoint: "https://id.example/token")
        return jitter() < 0.8 ? .granted(grant) : .cancelled
    }

    mutating func rareEvent() {
        switch Int.random(in: 0..<10, using: &generator) {
        case 8: run(session.sourceEnded(RefreshFailure(kind: .sourceEnded, message: "x"), at: moment))
        case 9: run(session.sourceReturned(at: moment))
        case 0: run(session.logoutRequested(local: Bool.random(using: &generator), at: moment))
        case 1: run(session.registrationChanged(at: moment))
        case 2: run(session.retryAllowed(at: moment))
        case 3: run(session.networkReturned(delay: .seconds(1), at: moment))
        case 4: finishNoninteractiveLogin()
        default:
            guard revoking > 0 else { return }
            revoking -= 1
            let failure = RefreshFailure(kind: .busy, message: "503")
            let outcome = jitter() < 0.5 ? RevocationOutcome.revoked : .failed(failure)
            run(session.revocationFinished(outcome, jitter: jitter(), at: moment))
        }
    }

    func checkInvariants() {
        let live = inFlight.filter { $0 == session.currentAttempt?.number }
        #expect(live.count <= 1, "two requests of one attempt are out")
        if let attempt = session.currentAttempt {
            let isHeld = queue.stage(of: session.name) == .held
            switch attempt.phase {
            case .reserving: #expect(isHeld || reserving.contains(attempt.number), "a reservation was lost")
            case .sending: #expect(isHeld || inFlight.contains(attempt.number), "a request was lost")
            case .awaitingPeer, .committing: break
            }
        }
        #expect(Set(session.waiters.order) == unanswered, "a waiter was lost")
        #expect(erased.isDisjoint(with: session.heldSecrets), "the session holds an erased secret")
    }
}

@Suite struct RandomWalkTests {
    @Test(.holds("141", "180"), arguments: 1...60)
    func `no order of events breaks what always holds`(seed: Int) {
        var world = World(seed: UInt64(seed))
        for _ in 0..<600 { world.step() }
        #expect(world.stood > 5)
    }
}
