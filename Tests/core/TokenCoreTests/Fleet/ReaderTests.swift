// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// A session at a host that opens access tokens only, and has the keepers refresh them.
@Suite struct ReaderTests {
    private static let denial = ReservationResult.unasked(StorageFailure(message: "no right"))
    private static let told = Reply.failure(.temporarilyUnavailable(message: "no right", retryAfter: nil))
    private static let scoped = TokenVariant(scopes: ["orders"], audience: nil)

    /// A session with a token of an hour.
    private func script() -> SessionScript {
        SessionScript.ready(
            lifetime: .seconds(3_600),
            policy: SessionPolicy(isShared: true, isReader: true),
            renewal: .byKeepers
        )
    }

    /// The attempt that begins, while the keepers are being asked.
    private func begin(_ script: inout SessionScript, _ effects: [Effect]) throws -> AttemptNumber {
        let begun = effects.compactMap { effect in
            if case .begin(let attempt) = effect { attempt } else { nil }
        }
        let attempt = try #require(begun.first)
        _ = script.session.reservationFinished(attempt, .held, jitter: 0, at: script.moment)
        return attempt
    }

    private func tokenRequest(_ script: inout SessionScript, as waiter: WaiterID) -> [Effect] {
        script.session.refreshRequested(
            by: waiter,
            rejecting: nil,
            because: .person,
            deadline: script.moment.now + .seconds(30),
            at: script.moment
        )
    }

    @Test func `without the right to ask, who wants more than the token that is there is told so`() throws {
        var script = script()
        script.advance(by: .seconds(1_200))
        let (waiter, wanting) = script.get(minimum: .seconds(3_000))
        let attempt = try begin(&script, wanting)
        let person = WaiterID(rawValue: 9)
        #expect(tokenRequest(&script, as: person).isEmpty)
        let effects = script.session.reservationFinished(attempt, Self.denial, jitter: 0, at: script.moment)
        #expect(effects == [.reply(waiter, Self.told), .reply(person, Self.told)])
        #expect(script.session.isReady && script.session.attemptInFlight == nil)
        #expect(script.get().1.reply(to: WaiterID(rawValue: 102))?.secret == SessionScript.accessToken)
    }

    @Test func `who has waited in vain is told that no keeper has refreshed it`() throws {
        var script = script()
        let person = WaiterID(rawValue: 9)
        _ = try begin(&script, tokenRequest(&script, as: person))
        script.advance(by: .seconds(30))
        let effects = script.tick()
        guard case .failure(.temporarilyUnavailable(let message, _, _))? = effects.reply(to: person) else {
            Issue.record("\(effects)")
            return
        }
        #expect(message.contains("waiting for a keeper of the fleet"))
    }

    @Test func `once the token is due, the keepers refresh it by themselves and the others wait`() throws {
        var script = script()
        let attempt = try begin(&script, script.sleepUntilWake())
        let (waiter, _) = script.get(minimum: .seconds(3_000))
        let (first, second) = (WaiterID(rawValue: 8), WaiterID(rawValue: 9))
        #expect(tokenRequest(&script, as: first).isEmpty)
        let effects = script.session.reservationFinished(attempt, Self.denial, jitter: 0, at: script.moment)
        #expect(effects == [.reply(first, Self.told)])
        // Nobody is asked a second time.
        #expect(tokenRequest(&script, as: second) == [.reply(second, Self.told)])
        let adopted = script.session.recordAdopted(
            script.record(renewal: .byKeepers),
            jitter: 0.5,
            at: script.moment
        )
        #expect(adopted.reply(to: waiter)?.secret == SecretID(rawValue: 800))
    }

    @Test func `where the token was refused, nobody waits who cannot ask for another one`() throws {
        var script = script()
        let person = WaiterID(rawValue: 9)
        let (reporter, reported) = script.refuse(SessionScript.accessToken)
        let attempt = try begin(&script, reported)
        let (waiter, _) = script.get()
        let effects = script.session.reservationFinished(attempt, Self.denial, jitter: 0, at: script.moment)
        #expect(effects.reply(to: waiter) == Self.told && effects.reply(to: reporter) == Self.told)
        let (later, told) = script.get()
        #expect(told.reply(to: later) == Self.told)
        #expect(tokenRequest(&script, as: person) == [.reply(person, Self.told)])
        let status = script.session.status
        #expect(status.state == .retrying && status.message == "no right" && status.tokenExpiresAt == nil)
        let adopted = script.session.recordAdopted(
            script.record(renewal: .byKeepers),
            jitter: 0.5,
            at: script.moment
        )
        #expect(adopted.notified == [.refreshed] && script.session.isReady)
    }

    @Test func `a token that the keepers do not have is nothing to wait for, and nobody is asked`() throws {
        var script = script()
        let (waiter, effects) = script.get(Self.scoped)
        #expect(effects.count == 1)
        guard case .failure(.misconfigured(_, let remedy))? = effects.reply(to: waiter) else {
            Issue.record("\(effects)")
            return
        }
        #expect(remedy.text.contains("keeper"))
        let refused = script.session.refreshRequested(
            by: WaiterID(rawValue: 9),
            Self.scoped,
            rejecting: nil,
            deadline: script.moment.now + .seconds(30),
            at: script.moment
        )
        #expect(refused.count == 1 && script.session.attemptInFlight == nil)
    }

    @Test func `a refusal is written down while the keepers are asked`() throws {
        var script = script()
        let secret = try #require(script.session.primaryToken?.secret)
        let (_, effects) = script.refuse(secret)
        _ = try begin(&script, effects)
        #expect(script.session.wakeTime == script.moment.now)
        let written = script.tick().compactMap { effect in
            if case .commit(_, let snapshot) = effect { snapshot.tokens[.primary]?.isRefused } else { nil }
        }
        #expect(written == [true])
    }

    @Test func `one that the keepers had is served to its end, and not asked for again`() throws {
        var script = script()
        var record = script.record(renewal: .byKeepers)
        var token = try #require(record.tokens[.primary])
        token.secret = SecretID(rawValue: 810)
        token.expiresAt = script.moment.now + .seconds(60)
        record.tokens[Self.scoped] = token
        _ = script.session.recordAdopted(record, jitter: 0.5, at: script.moment)
        script.advance(by: .seconds(25))
        let (waiter, effects) = script.get(Self.scoped)
        #expect(effects.reply(to: waiter)?.secret == SecretID(rawValue: 810) && effects.count == 1)
        script.advance(by: .seconds(60))
        let (late, refused) = script.get(Self.scoped)
        #expect(refused.reply(to: late)?.secret == nil && refused.count == 1)
    }
}
