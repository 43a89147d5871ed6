// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

/// Steps of the wall clock against the boot-time clock: a paused virtual machine, or a clock that was set.
struct ClockStepTests {
    private static let pause = Duration.seconds(8 * 3600)

    @Test func `a step is a difference of more than a minute`() {
        let start = Moment(now: .seconds(100), wallTime: WallTime(secondsSince1970: 1_800_000_000))
        func step(_ seconds: Int64, wall: Int64) -> Duration? {
            let later = Moment(
                now: start.now + .seconds(seconds),
                wallTime: start.wallTime + .seconds(wall)
            )
            return WallClockOffset(later).step(since: WallClockOffset(start))
        }
        #expect(step(3600, wall: 3600) == nil)
        #expect(step(3600, wall: 3660) == nil)
        #expect(step(3600, wall: 3661) == .seconds(61))
        #expect(step(0, wall: 28_800) == .seconds(28_800))
        #expect(step(3600, wall: 3540) == nil)
        #expect(step(3600, wall: 0) == .seconds(-3600))
        let absurd = [Int64.min, .max].map { WallTime(secondsSince1970: $0) }
        for wallTime in absurd {
            let offset = WallClockOffset(Moment(now: .seconds(100), wallTime: wallTime))
            #expect(offset.step(since: WallClockOffset(start)) != nil)
        }
    }

    @Test func `after a step forward a token is refreshed before it is given out again`() {
        var script = SessionScript.ready(lifetime: .seconds(3600))
        script.advance(by: .seconds(36))
        script.stepWallClock(by: Self.pause)
        #expect(script.session.cachedToken(at: script.moment.now) == nil)
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter) == nil)
        #expect(effects.sendsRequest)
        let done = script.answer(effects, script.granted())
        #expect(done.reply(to: waiter)?.secret == SecretID(rawValue: 500))
        // Nothing is in doubt any more.
        let (next, served) = script.get()
        #expect(served.reply(to: next)?.secret == SecretID(rawValue: 500))
        #expect(!served.sendsRequest)
    }

    @Test func `after a step forward the session refreshes by itself`() {
        var script = SessionScript.ready(lifetime: .seconds(3600))
        script.stepWallClock(by: Self.pause)
        #expect(script.session.wakeTime.map { $0 <= script.moment.now } == true)
        #expect(script.tick().sendsRequest)
    }

    @Test(.holds("106")) func `if that refresh fails for a while the token is served until its own end`() {
        for (isPast, kind) in [
            (false, FailureClass.unreachable), (false, .busy), (true, .unreachable), (true, .busy),
        ] {
            var script = SessionScript.ready(lifetime: .seconds(3600))
            let end = script.moment.wallTime + Self.pause + .seconds(isPast ? -7 * 3600 : 3600)
            script.stepWallClock(by: Self.pause, statedEnds: [SessionScript.accessToken: end])
            let (waiter, effects) = script.get(wait: .seconds(1))
            #expect(effects.reply(to: waiter) == nil)
            let failed = script.fail(effects, kind)
            let reply = failed.reply(to: waiter)
            #expect(isPast ? reply?.isTemporary == true : reply?.secret == SessionScript.accessToken)
            #expect(script.session.status.state == .retrying)
        }
    }

    @Test func `a token without its own end is served too if the refresh fails for a while`() {
        var script = SessionScript.ready(lifetime: .seconds(3600))
        script.stepWallClock(by: Self.pause)
        let (waiter, effects) = script.get()
        #expect(script.fail(effects, .busy).reply(to: waiter)?.secret == SessionScript.accessToken)
    }

    @Test(.holds("106")) func `a step ends no login, whatever it says about its age`() {
        var policy = SessionPolicy()
        policy.maximumSessionAge = .seconds(86_400)
        for renewal in [RenewalMethod.refreshToken(SessionScript.refreshToken), .impossible] {
            var script = SessionScript.ready(
                lifetime: .seconds(3600),
                policy: policy,
                renewal: renewal,
                refreshLifetime: .seconds(7200)
            )
            let end = script.moment.wallTime + .seconds(3600)
            for step in [Duration.seconds(11 * 365 * 86_400), .seconds(-11 * 365 * 86_400)] {
                script.stepWallClock(by: step, statedEnds: [SessionScript.accessToken: end])
                _ = script.session.timeReached(script.moment, jitter: 0)
                #expect(script.session.status.state != .loggedOut)
            }
            guard renewal == .impossible else { continue }
            // The clock is right again, and so is the token.
            let (waiter, effects) = script.get()
            #expect(effects.reply(to: waiter)?.secret == SessionScript.accessToken)
        }
    }

    @Test func `a token that cannot be refreshed is served after a step unless its own end has passed`() {
        var script = SessionScript.ready(lifetime: .seconds(3600), renewal: .impossible)
        script.stepWallClock(by: Self.pause)
        let (first, served) = script.get(minimum: .seconds(60))
        #expect(served.reply(to: first)?.secret == SessionScript.accessToken)
        let end = script.moment.wallTime
        script.stepWallClock(by: .seconds(120), statedEnds: [SessionScript.accessToken: end])
        let (second, refused) = script.get()
        #expect(refused.reply(to: second)?.isLoginRequired == true)
        #expect(script.session.status.state == .ready)
    }

    @Test func `a step back alone costs nothing`() {
        var script = SessionScript.ready(lifetime: .seconds(3600))
        script.stepWallClock(by: .zero - Self.pause)
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == SessionScript.accessToken)
        #expect(!effects.sendsRequest && !script.tick().sendsRequest)
    }

    @Test func `a report of a refused token is not answered with one that may have expired`() {
        var script = SessionScript.ready(lifetime: .seconds(3600))
        script.stepWallClock(by: Self.pause)
        let (waiter, effects) = script.refuse(SecretID(rawValue: 77))
        #expect(effects.reply(to: waiter) == nil)
        #expect(effects.sendsRequest)
    }

    // MARK: Starts with a clock that is not set yet

    /// The record of a login, read after a reboot at which the wall clock is ahead by `error`.
    private func restarted(_ script: SessionScript, ahead error: Duration) throws -> SessionScript {
        var snapshot = try #require(script.session.snapshot(at: script.moment))
        snapshot.isDatedByWallClock = true
        // As the store reads it: older by what the wall clock says has passed.
        snapshot.loginBegan = snapshot.loginBegan.map { $0 - error }
        snapshot.end?.at = script.moment.now + .seconds(86_400) - error
        snapshot.end?.since = script.moment.now - error
        for variant in snapshot.tokens.keys {
            snapshot.tokens[variant]?.obtainedAt = script.moment.now - error
            snapshot.tokens[variant]?.expiresAt = script.moment.now + .seconds(3600) - error
        }
        var copy = script
        copy.moment = Moment(now: script.moment.now, wallTime: script.moment.wallTime + error)
        copy.session = Session(
            restoring: snapshot,
            name: script.session.name,
            policy: script.session.policy,
            interruption: nil,
            at: copy.moment
        )
        return copy
    }

    @Test(.holds("109"))
    func `a start with a clock that is years ahead ends no login before the server was asked`() throws {
        let years = Duration.seconds(11 * 365 * 86_400)
        var policy = SessionPolicy()
        policy.maximumSessionAge = .seconds(30 * 86_400)
        let login = SessionScript.ready(
            lifetime: .seconds(3600),
            policy: policy,
            refreshLifetime: .seconds(86_400)
        )
        var script = try restarted(login, ahead: years)
        let attempt = script.tick()
        #expect(attempt.sendsRequest)
        _ = script.fail(attempt, .insecure)
        #expect(script.session.status.state == .retrying)
        // The clock is set: all is as it was.
        script.stepWallClock(by: .zero - years)
        _ = script.tick()
        #expect(script.session.status.state != .loggedOut)
        let (waiter, effects) = script.get()
        let reply = effects.reply(to: waiter)
        #expect(reply?.secret == SessionScript.accessToken)
        script.advance(by: RetrySchedule.wallClockGrace + .seconds(60))
        _ = script.tick()
        #expect(script.session.status.state != .loggedOut)
    }

    @Test func `a login that is over by the clock of a start is ended by its server alone`() throws {
        let login = SessionScript.ready(lifetime: .seconds(3600), refreshLifetime: .seconds(86_400))
        var script = try restarted(login, ahead: .seconds(11 * 365 * 86_400))
        _ = script.fail(script.tick(), .unreachable)
        script.advance(by: .seconds(86_400))
        let effects = script.tick()
        #expect(effects.sendsRequest)
        _ = script.fail(effects, .grantDead)
        #expect(script.session.status.reason == .grantDead)
    }

    @Test func `a server whose date tells that the clock is ahead makes the login younger`() throws {
        var policy = SessionPolicy()
        policy.maximumSessionAge = .seconds(30 * 86_400)
        let ahead = Duration.seconds(40 * 86_400)
        var script = try restarted(
            SessionScript.ready(lifetime: .seconds(3600), policy: policy),
            ahead: ahead
        )
        var granted = GrantedTokens(
            accessToken: SecretID(rawValue: 500),
            lifetime: .seconds(3600),
            requestedAt: script.moment.now
        )
        granted.serverClockAhead = .zero - ahead
        _ = script.answer(script.tick(), .granted(granted))
        script.advance(by: RetrySchedule.wallClockGrace + .seconds(60))
        _ = script.tick()
        #expect(script.session.status.state == .ready)
    }

    @Test(.holds("109")) func `an ended login is kept although a start's clock says that its time is over`()
        throws
    {
        var login = SessionScript.ready(lifetime: .seconds(3600))
        login.advance(by: .seconds(3601))
        let (_, effects) = login.get()
        _ = login.fail(effects, .interactionRequired)
        #expect(login.session.status.reason == .interactionRequired)
        let snapshot = try #require(login.session.snapshot(at: login.moment))
        let years = Duration.seconds(11 * 365 * 86_400)
        var script = login
        script.moment = Moment(now: login.moment.now, wallTime: login.moment.wallTime + years)
        script.session = Session(
            restoring: snapshot,
            name: login.session.name,
            policy: login.session.policy,
            interruption: nil,
            at: script.moment
        )
        func isErased(_ effects: [Effect]) -> Bool { effects.contains(.forget) }
        #expect(!isErased(script.tick()))
        script.stepWallClock(by: .zero - years)
        script.advance(by: RetrySchedule.wallClockGrace + .seconds(60))
        #expect(!isErased(script.tick()))
        // And it is kept as long as it was to be, no longer.
        script.advance(by: .seconds(29 * 86_400))
        #expect(!isErased(script.tick()))
        script.advance(by: .seconds(2 * 86_400))
        #expect(isErased(script.tick()))
    }

    @Test func `a clock that was set wrong and back for a while changes nothing of what a start concluded`()
        throws
    {
        let login = SessionScript.ready(lifetime: .seconds(3600), refreshLifetime: .seconds(86_400))
        var script = try restarted(login, ahead: .seconds(1800))
        let before = try #require(script.session.primaryToken?.expiresAt)
        script.stepWallClock(by: Self.pause)
        script.stepWallClock(by: .zero - Self.pause)
        #expect(script.session.primaryToken?.expiresAt == before)
    }
}
