// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

/// Sessions whose tokens come from something that is there anyway: there is no login to lose.
@Suite struct StartingAnewTests {
    private static func script(outlives: Bool = false) -> SessionScript {
        SessionScript(policy: SessionPolicy(tokensOutliveLogin: outlives, startsByItself: true))
    }

    /// A session that has fetched its first token, which lives ten minutes.
    private static func started(outlives: Bool = false) -> SessionScript {
        var script = script(outlives: outlives)
        let begin = script.sleepUntilWake()
        let effects = script.answer(
            begin,
            script.granted(origin: IssuanceContext(tokenEndpoint: "https://id.example/t"))
        )
        #expect(effects.notified == [.refreshed])
        return script
    }

    private static let lost = RefreshFailure(
        kind: .sourceEnded,
        message: "session google has no login",
        remedy: .run("tokenctl login google")
    )

    @Test(.holds("180")) func `the schedule fetches the first token`() {
        var script = Self.started()
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == SecretID(rawValue: 500))
        #expect(script.session.snapshot(at: script.moment)?.renewal == .withoutLogin)
        #expect(script.session.snapshot(at: script.moment)?.tokenEndpoint == "https://id.example/t")
    }

    @Test func `before the first token the status says that there is none yet, and why`() {
        var script = Self.script()
        let begin = script.sleepUntilWake()
        #expect(script.session.status.message == "no token obtained yet")
        _ = script.fail(begin, .unreachable)
        let status = script.session.status
        #expect(status.message == "no token obtained yet: no luck")
        #expect(status.loggedInAt == nil && status.loggedInTime == nil)
        let restarted = script.restarted().session.status
        #expect(restarted.loggedInAt == nil && restarted.message == "no token obtained yet")
        _ = script.answer(script.sleepUntilWake(), script.granted())
        #expect(script.session.status.loggedInAt == script.moment.now)
        #expect(script.session.status.message == nil)
    }

    @Test func `a rejected client is tried again every 15 minutes here too`() {
        var script = Self.script()
        var effects = script.sleepUntilWake()
        let start = script.moment.now
        while script.session.status.state != .suspended {
            _ = script.fail(effects, .clientRejected)
            guard script.session.status.state != .suspended else { break }
            effects = script.sleepUntilWake()
        }
        #expect(script.moment.now - start == .seconds(600))
        let before = script.moment.now
        #expect(script.fail(script.sleepUntilWake(), .clientRejected).notified == [.refreshFailed])
        #expect(script.moment.now - before == .seconds(900))
    }

    @Test func `a request fetches the first token, and others join it`() {
        var script = Self.script()
        let (first, begin) = script.get()
        let (second, joined) = script.get()
        #expect(begin.sendsRequest)
        #expect(!joined.sendsRequest)
        let effects = script.answer(begin, script.granted())
        #expect(effects.reply(to: first)?.secret == SecretID(rawValue: 500))
        #expect(effects.reply(to: second)?.secret == SecretID(rawValue: 500))
    }

    @Test func `a person's refresh fetches the first token`() {
        var script = Self.script()
        let (waiter, deadline) = (WaiterID(rawValue: 1), script.moment.now + .seconds(30))
        let begin = script.session.refreshRequested(
            by: waiter,
            rejecting: nil,
            deadline: deadline,
            at: script.moment
        )
        #expect(script.answer(begin, script.granted()).reply(to: waiter)?.secret == SecretID(rawValue: 500))
    }

    @Test(
        .holds("180"),
        arguments: FailureClass.allCases.filter { ![.sourceEnded, .credentialRejected].contains($0) },
        [true, false]
    )
    func `whatever a server answers, it tries again and needs nobody`(_ kind: FailureClass, _ isNew: Bool) {
        var script = isNew ? Self.script() : Self.started()
        script.advance(by: .seconds(601))
        for _ in 0..<12 {
            let (waiter, begin) = script.get(wait: .zero)
            let effects = begin.sendsRequest ? begin : script.sleepUntilWake()
            #expect(effects.sendsRequest)
            let replies = begin + script.fail(effects, kind)
            #expect(
                !replies.contains {
                    if case .reply(_, let reply) = $0 { reply.isLoginRequired } else { false }
                }
            )
            #expect(!replies.notified.contains(.loginRequired))
            #expect(script.session.wakeTime != nil)
            _ = script.session.requestWithdrawn(by: waiter)
        }
        let effects = script.answer(script.sleepUntilWake(), script.granted(secret: 501))
        #expect(effects.notified == [.refreshed])
    }

    @Test(.holds("180"), arguments: [FailureClass.grantDead, .unexplained, .misconfigured, .variantRefused])
    func `the pauses grow to a quarter of an hour and no further`(_ kind: FailureClass) {
        var script = Self.script()
        var pauses: [Duration] = []
        for _ in 0..<14 {
            let before = script.moment.now
            _ = script.fail(script.sleepUntilWake(jitter: 1), kind)
            pauses.append(script.moment.now - before)
        }
        #expect(pauses.dropFirst().first.map { $0 <= .seconds(31) } == true)
        #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(pauses.last.map { .seconds(400)...Duration.seconds(900) ~= $0 } == true)
    }

    @Test(arguments: [
        (FailureClass.misconfigured, true), (.variantRefused, true), (.grantDead, false),
        (.interactionRequired, false), (.sessionOver, false), (.unexplained, false),
    ])
    func `callers are told whose turn it is`(_ kind: FailureClass, _ isMistake: Bool) {
        var script = Self.script()
        let (waiter, begin) = script.get()
        guard let reply = script.fail(begin, kind).reply(to: waiter) else {
            Issue.record("not answered")
            return
        }
        #expect(reply.isTemporary != isMistake)
        #expect(!reply.isLoginRequired)
    }

    @Test(arguments: [
        FailureClass.unexplained, .grantDead, .interactionRequired, .sessionOver, .clientUnknown,
    ])
    func `a refusal that ends no login is temporary at first, and then somebody's turn`(
        _ kind: FailureClass
    ) throws {
        var script = Self.script()
        let failure = RefreshFailure(
            kind: kind,
            code: "x_no_such_thing",
            message: "id.example returned 400 \"x_no_such_thing\""
        )
        let start = script.moment.now
        var replies: [Reply?] = []
        var times: [Duration] = []
        for _ in 0..<8 {
            let begin = script.sleepUntilWake()
            let waiter = script.get().0
            times.append(script.moment.now - start)
            replies.append(script.answer(begin, .failed(failure)).reply(to: waiter))
        }
        if kind == .unexplained { #expect(times.prefix(3) == [.zero, .seconds(31), .seconds(62)]) }
        let turn = try #require(replies.firstIndex { $0?.isTemporary == false })
        #expect(turn >= 2 && (.seconds(60)...Duration.seconds(180)).contains(times[turn]), "\(times)")
        #expect(replies[turn...].allSatisfy { $0?.isTemporary == false })
        #expect("\(replies)".contains("x_no_such_thing"))
        #expect(!replies.contains { $0?.isLoginRequired == true })
        #expect(script.session.status.state == .suspended)
        let (waiter, asked) = script.get()
        #expect(!asked.sendsRequest && asked.reply(to: waiter)?.isTemporary == false)
        // Another failure says nothing about the refusals.
        _ = script.fail(script.sleepUntilWake(), .unreachable)
        #expect(script.session.status.state == .retrying)
        #expect(script.answer(script.sleepUntilWake(), script.granted()).notified == [.refreshed])
        #expect(script.session.status.state == .ready)
    }

    @Test func `refusals that nobody can explain count only when no token is left`() {
        var script = Self.started()
        let expiry = script.moment.now + .seconds(600)
        for _ in 0..<20 where script.session.status.state != .suspended {
            _ = script.fail(script.sleepUntilWake(), .unexplained)
            guard script.moment.now < expiry else { continue }
            let (waiter, effects) = script.get()
            #expect(effects.reply(to: waiter)?.secret == SecretID(rawValue: 500))
        }
        #expect(script.session.status.state == .suspended)
        #expect((.seconds(30)...Duration.seconds(120)).contains(script.moment.now - expiry))
    }

    @Test func `a good token is served while the next cannot be had`() {
        var script = Self.started()
        _ = script.fail(script.sleepUntilWake(), .grantDead)
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == SecretID(rawValue: 500))
    }

    @Test func `no age ends it`() {
        let policy = SessionPolicy(maximumSessionAge: .seconds(100), startsByItself: true)
        var script = SessionScript(policy: policy)
        _ = script.answer(script.sleepUntilWake(), script.granted())
        script.advance(by: .seconds(200))
        #expect(script.tick().notified.isEmpty)
        #expect(script.session.status.state == .ready)
    }

    @Test func `a restart goes on with the token it has, and fetches the next`() {
        var script = Self.started()
        script = script.restarted()
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == SecretID(rawValue: 500))
        script.advance(by: .seconds(601))
        #expect(script.restarted().session.wakeTime.map { $0 <= script.moment.now } == true)
    }

    @Test func `changed settings fetch a new token without telling anybody to log in`() {
        var script = Self.started()
        let effects = script.session.registrationChanged(at: script.moment)
        #expect(effects.sendsRequest)
        #expect(effects.contains(.forget))
        #expect(effects.contains(.erase(SecretID(rawValue: 500))))
        #expect(effects.notified.isEmpty)
    }

    // MARK: Logout

    @Test func `a logout revokes, and the next request fetches a token`() {
        var script = Self.started()
        let effects = script.session.logoutRequested(local: false, at: script.moment)
        script.commitAll(effects)
        #expect(effects.contains { if case .revoke = $0 { true } else { false } })
        #expect(script.session.wakeTime == nil)
        let (waiter, early) = script.get()
        #expect(early.isEmpty)
        let begin = script.session.revocationFinished(.revoked, jitter: 0, at: script.moment)
        let served = script.answer(begin, script.granted(secret: 501))
        #expect(served.reply(to: waiter)?.secret == SecretID(rawValue: 501))
    }

    @Test func `a server that cannot be told to revoke holds up no request`() {
        var script = Self.started()
        script.commitAll(script.session.logoutRequested(local: false, at: script.moment))
        let failure = RefreshFailure(kind: .unreachable, message: "no way")
        _ = script.session.revocationFinished(.failed(failure), jitter: 0, at: script.moment)
        let (_, begin) = script.get()
        #expect(begin.sendsRequest)
        let discarded = begin.compactMap {
            if case .discard(let request) = $0 { request.accessToken } else { nil }
        }
        #expect(discarded == [SecretID(rawValue: 500)])
    }

    // MARK: Sources

    @Test func `the end of its source ends it, and its tokens are given back`() {
        var script = Self.started()
        let effects = script.session.sourceEnded(Self.lost, at: script.moment)
        #expect(effects.notified == [.loginRequired])
        #expect(effects.contains(.forget))
        #expect(
            effects.contains(
                .discard(
                    RevocationRequest(
                        refreshToken: nil,
                        accessToken: SecretID(rawValue: 500),
                        tokenEndpoint: "https://id.example/t"
                    )
                )
            )
        )
        #expect(script.session.wakeTime == nil)
        #expect(script.session.status.remedy == .run("tokenctl login google"))
    }

    @Test func `callers are told what brings its source back, and asking is not repeated at once`() {
        var script = Self.script()
        let (waiter, begin) = script.get()
        let failed = script.answer(begin, .failed(Self.lost))
        #expect(failed.notified.isEmpty)
        let (second, effects) = script.get()
        #expect(!effects.sendsRequest)
        for reply in [failed.reply(to: waiter), effects.reply(to: second)] {
            guard case .failure(.loginRequired(.sourceEnded, _, let remedy)) = reply else {
                Issue.record("\(String(describing: reply))")
                continue
            }
            #expect(remedy == .run("tokenctl login google"))
        }
        script.advance(by: .seconds(10))
        #expect(script.get().1.sendsRequest)
    }

    @Test func `a login at its source starts it anew, for those who wait too`() {
        var script = Self.started()
        _ = script.session.sourceEnded(Self.lost, at: script.moment)
        script.advance(by: .seconds(20))
        let begin = script.session.sourceReturned(at: script.moment)
        let (waiter, _) = script.get()
        let effects = script.answer(begin, script.granted(secret: 501))
        #expect(effects.reply(to: waiter)?.secret == SecretID(rawValue: 501))
    }

    @Test func `nothing made of the last account is served after another login at its source`() {
        var script = Self.started()
        script.advance(by: .seconds(500))
        let old = script.tick()
        let request = script.reserve(old)
        let begin = script.session.sourceReturned(at: script.moment)
        #expect(begin.sendsRequest)
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter) == nil)
        guard let request else {
            Issue.record("no refresh was under way")
            return
        }
        let late = script.session.refreshFinished(
            request.attempt,
            script.granted(secret: 600),
            jitter: 0,
            at: script.moment
        )
        #expect(
            late.contains {
                if case .discard(let late) = $0 { late.accessToken?.rawValue == 600 } else { false }
            }
        )
        #expect(script.answer(begin, script.granted(secret: 501)).reply(to: waiter)?.secret?.rawValue == 501)
    }

    @Test func `a token that belongs to no login is served to its end`() {
        var script = Self.started(outlives: true)
        let effects = script.fail(script.sleepUntilWake(), .sourceEnded)
        #expect(effects.notified == [.loginRequired])
        let (early, served) = script.get()
        #expect(served.reply(to: early)?.secret == SecretID(rawValue: 500))
        script.advance(by: .seconds(300))
        let (late, refused) = script.get()
        #expect(refused.sendsRequest)
        #expect(refused.reply(to: late) == nil)
    }

    @Test func `a key that its tokens are bound to goes with them`() {
        var script = Self.script()
        let key = SecretID(rawValue: 900)
        let origin = IssuanceContext(tokenEndpoint: "https://id.example/t", proofKey: key)
        _ = script.answer(script.sleepUntilWake(), script.granted(origin: origin))
        #expect(script.session.proofKey == key)
        #expect(script.reserve(script.sleepUntilWake())?.proofKey == key)
        #expect(script.session.sourceEnded(Self.lost, at: script.moment).contains(.erase(key)))
    }
}
