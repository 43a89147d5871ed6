// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// When the refresh token of a record may be sent, and what an answer to it means.
@Suite struct TakeoverTests {
    private static func time(_ offset: Int64) -> FleetTime {
        FleetTime(seconds: FleetSnapshot.moment.seconds + offset)
    }

    // The lease is 15 s, a request takes at most 8 s, the margin is 1 s.
    private static let grace = FleetTiming.RefreshTokenReuse.acceptedFor(.seconds(30))

    @Test(
        arguments: [
            // Nobody has sent it.
            (nil, nil, .refused, FleetSendPermission.now(within: nil)),
            (.attempt(60, for: .record(4), age: 5), nil, .refused, .now(within: nil)),
            // A host is at it.
            (.attempt(60), 60, .refused, .held),
            (.attempt(60), 60, .accepted, .held),
            // Refresh tokens are kept: nothing is at stake.
            (.attempt(60, age: 31), nil, .accepted, .now(within: nil)),
            // Inside the grace, counted from the first attempt and with the time that a request takes.
            (.attempt(60, age: 16), nil, grace, .now(within: .seconds(4))),
            (.attempt(60, age: 19), nil, grace, .now(within: .seconds(1))),
            // It may be a second later than etcd says, and too late.
            (.attempt(60, age: 20), nil, grace, .notBefore(time(100))),
            (.attempt(60, age: 5), nil, .acceptedFor(.seconds(10)), .now(within: .milliseconds(500))),
            (.attempt(60, age: 6), nil, .acceptedFor(.seconds(10)), .notBefore(time(114))),
            (.attempt(61, age: 2, first: 25, before: [60]), nil, grace, .notBefore(time(118))),
            // The host is waited for, until a reboot would be over.
            (.attempt(60, age: 31), nil, .refused, .notBefore(time(89))),
            (.attempt(60, age: 119), nil, .refused, .notBefore(time(1))),
            (.attempt(60, age: 120), nil, .refused, .now(within: nil)),
        ] as [(FleetIntent?, UInt64?, FleetTiming.RefreshTokenReuse, FleetSendPermission)]
    )
    func `when a refresh token may be sent`(
        intent: FleetIntent?,
        lock: UInt64?,
        reuse: FleetTiming.RefreshTokenReuse,
        takeover: FleetSendPermission
    ) {
        let view = FleetSnapshot.showing(.record(5), intent, lock: lock)
        let timing = FleetTiming(reuse: reuse)
        #expect(FleetSendPermission(in: view, expiry: nil, timing: timing) == takeover)
    }

    @Test func `as long as the access token is good, waiting costs nothing`() {
        let view = FleetSnapshot.showing(.record(5), .attempt(60, age: 500))
        let timing = FleetTiming(reuse: .refused)
        let takeover = FleetSendPermission(in: view, expiry: Self.time(600), timing: timing)
        #expect(takeover == .notBefore(Self.time(720)))
    }

    @Test(arguments: [FleetTiming.RefreshTokenReuse.refused, grace, .accepted])
    func `whoever comes first confirms a refusal, half a minute later`(reuse: FleetTiming.RefreshTokenReuse) {
        let rows: [(Int64, UInt64?, FleetSendPermission)] = [
            (5, 60, .held), (5, nil, .notBefore(Self.time(25))), (29, nil, .notBefore(Self.time(1))),
            (30, nil, .now(within: nil)),
        ]
        for (age, lock, takeover) in rows {
            let refused = FleetIntent.attempt(60, age: age).refused
            let view = FleetSnapshot.showing(.record(5), refused, lock: lock)
            let timing = FleetTiming(reuse: reuse)
            #expect(FleetSendPermission(in: view, expiry: Self.time(600), timing: timing) == takeover)
        }
    }

    @Test(arguments: [
        (FleetTiming.RefreshTokenReuse.acceptedFor(.seconds(30)), 15.0, 8.0),
        (.acceptedFor(.seconds(60)), 15, 8),
        (.acceptedFor(.seconds(10)), 5, 2.5),
        (.refused, 30, 20),
        (.accepted, 30, 20),
    ])
    func `lease, request and margin fit into the grace`(
        reuse: FleetTiming.RefreshTokenReuse,
        lease: Double,
        request: Double
    ) {
        let timing = FleetTiming(reuse: reuse)
        #expect(timing.lease == .seconds(lease))
        #expect(timing.request == .seconds(request))
        guard case .acceptedFor(let grace) = timing.reuse else { return }
        #expect(timing.lease + timing.request + timing.margin < grace)
    }

    @Test func `a grace that is too short counts as none, and patience outlasts a lease`() {
        #expect(FleetTiming(reuse: .acceptedFor(.seconds(9))).reuse == .refused)
        #expect(FleetTiming(reuse: .refused, takeoverTimeout: .zero).takeoverTimeout == .seconds(31))
    }

    // MARK: Answers

    @Test(
        arguments: [
            // Nothing was sent.
            (FailureClass.unreachable, nil, nil, FleetRefreshOutcome.untouched),
            (.insecure, nil, nil, .untouched),
            (.storage, nil, nil, .untouched),
            // RFC 6585 §4, and RFC 9110 §15.6.4 with the server's own word.
            (.busy, 429, nil, .untouched),
            (.busy, 503, .seconds(5), .untouched),
            // A gateway says these after the server has acted, too.
            (.busy, 503, nil, .unanswered),
            (.busy, 500, nil, .unanswered),
            (.busy, 502, .seconds(5), .unanswered),
            (.busy, 504, nil, .unanswered),
            (.busy, 524, nil, .unanswered),
            (.busy, nil, nil, .unanswered),
            (.ambiguous, nil, nil, .unanswered),
            // An answer of 200 that nobody can read.
            (.misbehaved, 200, nil, .unanswered),
            // RFC 6749 §5.2.
            (.grantDead, 400, nil, .refused(.grantDead, confirmations: 1)),
            (.sessionOver, 400, nil, .refused(.grantDead, confirmations: 0)),
            (.interactionRequired, 400, nil, .refused(.interactionRequired, confirmations: 0)),
            (.identityChanged, 200, nil, .refused(.identityChanged, confirmations: 0)),
            (.unexplained, 400, nil, .refused(.refusedWithoutReason, confirmations: 2)),
            (.clientRejected, 401, nil, .untouched),
            (.clientUnauthorized, 403, nil, .untouched),
            // The server looked at the client or the request, not at the token.
            (.misconfigured, 401, nil, .untouched),
            (.variantRefused, 400, nil, .untouched),
        ] as [(FailureClass, Int?, Duration?, FleetRefreshOutcome)]
    )
    func `what an answer says of the refresh token`(
        kind: FailureClass,
        status: Int?,
        retryAfter: Duration?,
        answer: FleetRefreshOutcome
    ) {
        let failure = RefreshFailure(kind: kind, message: "x", retryAfter: retryAfter)
        #expect(FleetRefreshOutcome(failure, status: status, isFirstUse: true) == answer)
    }

    @Test func `a token that has worked before needs no second refusal`() {
        let failure = RefreshFailure(kind: .grantDead, message: "x")
        let answer = FleetRefreshOutcome(failure, status: 400, isFirstUse: false)
        #expect(answer == .refused(.grantDead, confirmations: 0))
    }

    @Test func `a refusal without a reason counts only when the access token is over`() {
        let failure = RefreshFailure(kind: .unexplained, message: "x")
        let early = FleetRefreshOutcome(failure, status: 400, isFirstUse: true, hasToken: true)
        #expect(early == .untouched)
    }

    @Test func `an unauthorized client that has refreshed before has a dead refresh token`() {
        let failure = RefreshFailure(kind: .clientUnauthorized, message: "x")
        let answer = FleetRefreshOutcome(failure, status: 403, isFirstUse: true, hasRefreshed: true)
        #expect(answer == .refused(.grantDead, confirmations: 1))
    }

    // MARK: Logins

    @Test(
        arguments: [
            (nil, nil, 1),
            // Another host may have logged in within this second.
            (nil, 1_800_000_000, 1_800_000_001),
            (1_700_000_000, 1_800_000_000, 1_800_000_000),
            // etcd's clock was ahead once, or nobody knows what it says.
            (1_900_000_000, 1_800_000_000, 1_900_000_001),
            (7, nil, 8),
            (UInt64.max, 1_800_000_000, .max),
            (nil, -5, 1),
        ] as [(UInt64?, Int64?, UInt64)]
    )
    func `a login's number is higher than that of the one before`(last: UInt64?, time: Int64?, number: UInt64)
    {
        let known = last.map { Lineage(number: $0, id: 1) }
        let lineage = Lineage(9, after: known, at: time.map { FleetTime(seconds: $0) })
        #expect(lineage.number == number)
    }

    @Test func `times and predecessors are bounded, whatever etcd holds`() {
        #expect(FleetTime(seconds: .max) + .seconds(5) == FleetTime(seconds: .max))
        #expect(FleetTime(seconds: .min) + .seconds(-5) == FleetTime(seconds: .min))
        let intent = FleetIntent.attempt(60, before: Array(0..<100))
        #expect(intent.before.count == FleetIntent.maximumPredecessors)
        #expect(intent.before.last == .number(99))
        #expect(FleetHeader.record(.max, attempt: 1, proven: 0).loggedOut().generation == .max)
    }
}
