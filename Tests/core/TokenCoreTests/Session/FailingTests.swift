// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

@testable import TokenCore

@Suite struct FailingTests {
    private static let temporary: [FailureClass] = [
        .unreachable, .insecure, .ambiguous, .misbehaved, .busy, .storage, .helperFailed,
    ]
    private static let correction = Remedy.set(
        "[session.work] as its server requires, then run tokenctl refresh work"
    )

    @Test(.holds("78"), arguments: temporary)
    func `no temporary failure ends a session, however often it comes`(kind: FailureClass) {
        var script = SessionScript.ready()
        for _ in 0..<200 {
            let effects = script.sleepUntilWake()
            guard effects.sendsRequest else { continue }
            #expect(!script.fail(effects, kind).notified.contains(.loginRequired))
        }
        #expect(script.session.status.state == .retrying)
        var effects: [Effect] = []
        while !effects.sendsRequest { effects = script.sleepUntilWake() }
        #expect(script.answer(effects, script.granted()).notified == [.refreshed])
        #expect(script.session.status.state == .ready)
    }

    @Test func `a disk that refuses the reservation means nothing is sent`() throws {
        var script = SessionScript.ready()
        let due = script.sleepUntilWake()
        #expect(due.isReserved(in: script))
        let number = try #require(due.begun)
        let full = StorageFailure(message: "No space left on device")
        let effects = script.session.reservationFinished(number, .failed(full), jitter: 0, at: script.moment)
        #expect(!effects.sendsRequest && script.session.request(of: number) == nil)
        #expect(script.session.status.state == .retrying)
        let (waiter, served) = script.get()
        #expect(served.reply(to: waiter)?.secret == SessionScript.accessToken)
    }

    @Test func `a server known to keep refresh tokens is asked even when the disk is full`() throws {
        var script = SessionScript.ready(lifetime: .seconds(60))
        for _ in 0..<3 {
            let due = script.sleepUntilWake()
            _ = script.answer(due, script.granted(lifetime: .seconds(60)))
        }
        #expect(script.session.status.rotation == .keeps)
        let due = script.sleepUntilWake()
        let number = try #require(due.begun)
        let full = StorageFailure(message: "No space left on device")
        _ = script.session.reservationFinished(number, .failed(full), jitter: 0, at: script.moment)
        #expect(script.session.request(of: number) != nil)
    }

    @Test(.holds("66"))
    func `a lost answer is replayed at once, after 2 s, after 8 s, then a minute before expiry`() {
        var script = SessionScript.ready()
        let begin = script.sleepUntilWake()
        _ = script.fail(begin, .ambiguous)
        var delays: [Duration] = []
        for _ in 0..<4 {
            let before = script.moment.now
            let effects = script.sleepUntilWake()
            delays.append(script.moment.now - before)
            _ = script.fail(effects, .ambiguous)
        }
        #expect(delays == [.zero, .seconds(2), .seconds(8), .seconds(600 - 400 - 10 - 60)])
    }

    @Test(.holds("67")) func `a refused replay is an honest end, and the access token is served to its end`()
    {
        var script = SessionScript.ready()
        let begin = script.sleepUntilWake()
        _ = script.fail(begin, .ambiguous)
        let replay = script.sleepUntilWake()
        let effects = script.fail(replay, .grantDead)
        #expect(effects.notified == [.loginRequired])
        #expect(script.session.status.reason == .replyLost)
        let (waiter, served) = script.get()
        #expect(served.reply(to: waiter)?.secret == SessionScript.accessToken)
        script.advance(by: .seconds(600))
        let (late, refused) = script.get()
        #expect(refused.reply(to: late)?.isLoginRequired == true)
        #expect(!script.tick().sendsRequest)
    }

    @Test func `a dead grant is confirmed once before it is final`() {
        var script = SessionScript.ready(lifetime: .seconds(60))
        let begin = script.sleepUntilWake()
        #expect(script.fail(begin, .grantDead).notified == [.loginRequired])
        #expect(script.session.status.state == .loggedOut)
        let before = script.moment.now
        let probe = script.sleepUntilWake()
        #expect((Duration.seconds(30)...Duration.seconds(60)).contains(script.moment.now - before))
        #expect(probe.sendsRequest)
        #expect(script.fail(probe, .grantDead).notified.isEmpty)
        #expect(script.session.status.reason == .grantDead)
        #expect(script.session.wakeTime == before + RetrySchedule.quarantine)
    }

    @Test func `a code that ends the session by definition is not confirmed`() {
        var script = SessionScript.ready(lifetime: .seconds(60))
        let begin = script.sleepUntilWake()
        let before = script.moment.now
        #expect(script.fail(begin, .sessionOver).notified == [.loginRequired])
        #expect(script.session.status.reason == .grantDead)
        #expect(script.session.wakeTime == before + RetrySchedule.quarantine)
    }

    @Test func `a confirmation that works brings the session back`() {
        var script = SessionScript.ready(lifetime: .seconds(60))
        let begin = script.sleepUntilWake()
        _ = script.fail(begin, .grantDead)
        let probe = script.sleepUntilWake()
        #expect(script.answer(probe, script.granted()).notified == [.refreshed])
        #expect(script.session.status.state == .ready)
    }

    @Test(.holds("78"), arguments: [2, 30, 60, 600, 3600, 86_400, 8_640_000])
    func `refusals without a reason end a login only after its access token, and are retried hourly`(
        lifetime: Int
    ) {
        var script = SessionScript.ready(lifetime: .seconds(lifetime))
        let expiry = script.moment.now + .seconds(lifetime)
        let begin = script.sleepUntilWake()
        let start = script.moment.now
        var late: [Instant] = []
        var effects = script.fail(begin, .unexplained)
        while !effects.notified.contains(.loginRequired) {
            if script.moment.now >= expiry { late.append(script.moment.now) }
            let (waiter, asked) = script.get()
            #expect(!asked.sendsRequest && asked.reply(to: waiter)?.isLoginRequired != true)
            let next = script.sleepUntilWake()
            effects = script.fail(next, .unexplained)
        }
        #expect(late.first.map { script.moment.now - $0 >= .seconds(30) } == true)
        #expect(script.moment.now - expiry <= .seconds(120))
        #expect(script.moment.now - start >= .seconds(60))
        #expect(script.session.status.reason == .refusedWithoutReason)
        let ended = script.moment.now
        let probe = script.sleepUntilWake()
        #expect(script.moment.now - ended == .seconds(3600))
        #expect(script.answer(probe, script.granted()).notified == [.refreshed])
    }

    @Test(.holds("142"), arguments: [0, 20, 60, 120, 300], [60, 90, 600, 3600, 86_400])
    func `a server that refuses early refreshes loses no login, whatever refresh_before says`(
        lead: Int,
        lifetime: Int
    ) {
        let policy = SessionPolicy(refreshBefore: .seconds(lead))
        var script = SessionScript.ready(lifetime: .seconds(lifetime), policy: policy)
        let expiry = script.moment.now + .seconds(lifetime)
        var tries = 0
        var effects = script.sleepUntilWake()
        while expiry - script.moment.now > .seconds(30) {
            tries += 1
            effects = script.fail(effects, .unexplained)
            #expect(!effects.notified.contains(.loginRequired))
            effects = script.sleepUntilWake()
        }
        #expect(script.answer(effects, script.granted()).notified == [.refreshed])
        #expect(script.moment.now <= expiry)
        #expect(tries <= 5)
    }

    @Test(.holds("142"))
    func `a server that accepts a refresh only after the token's end loses no login either`() {
        var script = SessionScript.ready(lifetime: .seconds(600))
        let expiry = script.moment.now + .seconds(600)
        var effects = script.sleepUntilWake()
        while script.moment.now < expiry {
            effects = script.fail(effects, .unexplained)
            effects = script.sleepUntilWake()
        }
        #expect(script.moment.now - expiry <= .seconds(1))
        #expect(script.answer(effects, script.granted()).notified == [.refreshed])
    }

    @Test func `a person who forces refreshes ends no login while its token is good`() {
        var script = SessionScript.ready(lifetime: .seconds(3600))
        for _ in 0..<20 {
            script.advance(by: .seconds(31))
            #expect(!script.fail(script.force(), .unexplained).notified.contains(.loginRequired))
        }
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == SessionScript.accessToken)
    }

    @Test(.holds("78"))
    func `a rejected client is tried again for ten minutes, then every 15, with both remedies`() {
        var script = SessionScript.ready()
        let begin = script.sleepUntilWake()
        let start = script.moment.now
        _ = script.fail(begin, .clientRejected)
        var tries: [Duration] = []
        while script.session.status.state == .retrying {
            let (waiter, asked) = script.get(minimum: .seconds(590), wait: .zero)
            #expect(asked.reply(to: waiter)?.isTemporary == true)
            let next = script.sleepUntilWake()
            tries.append(script.moment.now - start)
            _ = script.fail(next, .clientRejected)
        }
        #expect(tries == [15, 75, 195, 495, 600].map { .seconds($0) })
        let status = script.session.status
        #expect(status.state == .suspended)
        #expect(status.message?.contains("secret or key is wrong or expired") == true)
        #expect(status.message?.contains("the server is being changed") == true)
        #expect(
            status.remedy
                == .set("the current client secret in [session.work], then run tokenctl refresh work")
        )
        for _ in 0..<3 {
            let before = script.moment.now
            let next = script.sleepUntilWake()
            #expect(script.moment.now - before == .seconds(900))
            _ = script.fail(next, .clientRejected)
            #expect(script.session.status.state == .suspended)
            let (waiter, asked) = script.get()
            guard case .failure(.misconfigured)? = asked.reply(to: waiter) else {
                Issue.record("not told to correct something")
                return
            }
        }
        #expect(script.answer(script.sleepUntilWake(), script.granted()).notified == [.refreshed])
    }

    @Test func `forced refreshes do not use up the ten minutes of a rejected client`() {
        var script = SessionScript.ready()
        _ = script.fail(script.sleepUntilWake(), .clientRejected)
        for _ in 0..<10 {
            script.advance(by: .seconds(1))
            _ = script.fail(script.force(), .clientRejected)
        }
        #expect(script.session.status.state == .retrying)
        #expect(script.session.wakeTime == script.moment.now + .seconds(5))
    }

    @Test(.holds("78"))
    func `an unauthorized client that has refreshed before has a dead refresh token, to be confirmed`() {
        var script = SessionScript.ready(lifetime: .seconds(60))
        let rotated = SecretID(rawValue: 510)
        _ = script.answer(
            script.sleepUntilWake(),
            script.granted(lifetime: .seconds(60), refreshToken: rotated)
        )
        let begin = script.sleepUntilWake()
        #expect(script.fail(begin, .clientUnauthorized).notified == [.loginRequired])
        #expect(script.session.status.reason == .grantDead)
        let before = script.moment.now
        let probe = script.sleepUntilWake()
        #expect(script.moment.now - before <= .seconds(60))
        #expect(script.fail(probe, .clientUnauthorized).notified.isEmpty)
        script.advance(by: .seconds(60))
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.isLoginRequired == true)
        // Should it have been the client after all, the session comes back when that has been put right.
        let later = script.moment.now
        let again = script.sleepUntilWake()
        #expect(script.moment.now - later <= .seconds(3600))
        #expect(script.answer(again, script.granted()).notified == [.refreshed])
    }

    @Test func `an unauthorized client that has never refreshed is a matter of the settings`() {
        var script = SessionScript.ready()
        _ = script.fail(script.sleepUntilWake(), .clientUnauthorized)
        #expect(script.session.status.state == .suspended)
    }

    @Test(.holds("78"))
    func `a server that has forgotten the registered client wants a login, and is asked now and then`() {
        var script = SessionScript.ready()
        let begin = script.sleepUntilWake()
        #expect(script.fail(begin, .clientUnknown).notified == [.loginRequired])
        #expect(script.session.status.reason == .clientUnknown)
        #expect(script.session.status.remedy == .run("tokenctl login work"))
        let (waiter, served) = script.get()
        #expect(served.reply(to: waiter)?.secret == SessionScript.accessToken)
        var before = script.moment.now
        var probe = script.sleepUntilWake()
        #expect((Duration.seconds(30)...Duration.seconds(60)).contains(script.moment.now - before))
        #expect(script.fail(probe, .clientUnknown).notified.isEmpty)
        before = script.moment.now
        probe = script.sleepUntilWake()
        #expect(script.moment.now - before == .seconds(3600))
        #expect(script.answer(probe, script.granted()).notified == [.refreshed])
    }

    @Test(.holds("142")) func `forced refreshes that fail do not put off the next try`() {
        var script = SessionScript.ready(lifetime: .seconds(60))
        script.advance(by: .seconds(10))
        _ = script.fail(script.force(), .busy)
        let planned = script.session.wakeTime
        for _ in 0..<6 { _ = script.fail(script.force(), .busy) }
        #expect(script.session.wakeTime == planned)
        // Nor do those that the network keeps from being sent.
        script.advance(by: .milliseconds(500))
        for _ in 0..<6 { _ = script.fail(script.force(), .unreachable) }
        #expect(script.session.wakeTime == planned)
    }

    @Test func `a client that is rejected after another mistake was corrected has its time as well`() {
        var script = SessionScript.ready()
        _ = script.fail(script.sleepUntilWake(), .misconfigured)
        let effects = script.fail(script.force(), .clientRejected)
        let isTemporary = effects.contains { effect in
            guard case .reply(_, .failure(.temporarilyUnavailable)) = effect else { return false }
            return true
        }
        #expect(isTemporary, "\(effects)")
    }

    @Test func `a refusal of the client does not confirm that a grant is dead`() {
        var script = SessionScript.ready(lifetime: .seconds(60))
        _ = script.fail(script.sleepUntilWake(), .grantDead)
        _ = script.fail(script.sleepUntilWake(), .clientRejected)
        let probe = script.sleepUntilWake()
        #expect(script.answer(probe, script.granted()).notified == [.refreshed])
    }

    @Test(arguments: [FailureClass.misconfigured, .variantRefused])
    func `a configuration error keeps the refresh token and stops`(kind: FailureClass) {
        var script = SessionScript.ready()
        let begin = script.sleepUntilWake()
        _ = script.fail(begin, kind)
        #expect(script.session.status.state == .suspended)
        script.advance(by: .seconds(700))
        let (waiter, effects) = script.get()
        #expect(
            effects.reply(to: waiter) == .failure(.misconfigured(message: "no luck", remedy: Self.correction))
        )
        #expect(!effects.sendsRequest)
        let retry = script.session.retryAllowed(at: script.moment)
        #expect(script.answer(retry, script.granted()).notified == [.refreshed])
    }

    @Test func `a login that does not fit its server is suspended until the next one, which is named`() {
        let rows: [(Remedy?, Remedy)] = [
            (nil, .run("tokenctl login work")),
            (.set("this"), .set("this, then run tokenctl login work")),
            (.run("a"), .run("a && tokenctl login work")),
        ]
        for (remedy, told) in rows {
            var script = SessionScript.ready()
            let failure = RefreshFailure(
                kind: .misconfigured,
                message: "no",
                remedy: remedy,
                needsLogin: true
            )
            _ = script.answer(script.sleepUntilWake(), .failed(failure))
            #expect(script.session.status.remedy == told)
            script.advance(by: .seconds(700))
            let (waiter, effects) = script.get()
            #expect(effects.reply(to: waiter) == .failure(.misconfigured(message: "no", remedy: told)))
        }
    }

    @Test(arguments: [
        // A kind of server that knows no scopes names no code.
        (nil, nil, Remedy.run("tokenctl get work")),
        ("invalid_scope", nil, .run("tokenctl login work --scope 'a;b' --scope 'admin'")),
        (
            "invalid_target", "https://api.example.com",
            .retry("with scopes and an audience that the authorization server permits")
        ),
    ])
    func `a refused scope stops that scope only`(code: String?, audience: String?, remedy: Remedy) {
        var script = SessionScript.ready()
        let variant = TokenVariant(scopes: ["admin", "a;b"], audience: audience)
        let (first, begin) = script.get(variant)
        let failure = RefreshFailure(kind: .variantRefused, code: code, message: "no luck")
        let told = Reply.failure(.misconfigured(message: "no luck", remedy: remedy))
        #expect(script.answer(begin, .failed(failure)).reply(to: first) == told)
        let (second, again) = script.get(variant)
        #expect(again.reply(to: second) == told)
        #expect(!again.sendsRequest)
        #expect(script.session.status.state == .ready)
    }

    @Test(.holds("99", "O43")) func `someone else's ID token freezes the session and its tokens`() {
        var script = SessionScript.ready()
        let begin = script.sleepUntilWake()
        _ = script.fail(begin, .identityChanged)
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.isLoginRequired == true)
        #expect(!script.sleepUntilWake().sendsRequest)
    }

    @Test(.holds("80")) func `Retry-After is a lower bound`() {
        var script = SessionScript.ready()
        let begin = script.sleepUntilWake()
        _ = script.fail(begin, .busy, retryAfter: .seconds(120))
        let wake = script.session.wakeTime ?? script.moment.now
        #expect(wake - script.moment.now >= .seconds(120))
        #expect(wake - script.moment.now <= .seconds(132))
        let (_, effects) = script.get(minimum: .seconds(600))
        #expect(!effects.sendsRequest)
    }

    @Test func `requests during an outage add nothing to the backoff schedule of a server that answers`() {
        var script = SessionScript.ready(lifetime: .seconds(60))
        script.advance(by: .seconds(60))
        var requests = 0
        for _ in 0..<600 {
            script.advance(by: .seconds(1))
            let (_, asked) = script.get(wait: .zero)
            for effects in [asked, script.tick(jitter: 0.999)] where effects.sendsRequest {
                requests += 1
                _ = script.fail(effects, .busy)
            }
        }
        #expect(requests <= 10)
    }

    @Test func `when the network is back what could not be sent is sent at once`() {
        var script = SessionScript.ready()
        for _ in 0..<6 {
            let due = script.sleepUntilWake()
            _ = script.fail(due, .unreachable)
        }
        _ = script.session.networkReturned(delay: .seconds(1), at: script.moment)
        #expect(script.session.wakeTime == script.moment.now + .seconds(1))
        let retry = script.sleepUntilWake()
        #expect(script.answer(retry, script.granted()).notified == [.refreshed])
    }

    @Test func `the network coming back does not hurry a server that asked for patience`() {
        var script = SessionScript.ready()
        let due = script.sleepUntilWake()
        _ = script.fail(due, .busy, retryAfter: .seconds(120))
        let planned = script.session.wakeTime
        _ = script.session.networkReturned(delay: .seconds(1), at: script.moment)
        #expect(script.session.wakeTime == planned)
    }
}
