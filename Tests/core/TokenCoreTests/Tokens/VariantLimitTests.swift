// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// Tokens of further scopes and audiences: how many a session keeps, and whose are made first.
@Suite struct VariantLimitTests {
    private static func audience(_ number: Int) -> TokenVariant {
        TokenVariant(scopes: [], audience: "https://api\(number).example")
    }

    /// Asks for the variants with these numbers, one after the other, each a second later; answers what was erased.
    private func have(
        _ numbers: some Sequence<Int>,
        _ script: inout SessionScript,
        lifetime: Duration = .seconds(100_000)
    ) -> Set<SecretID> {
        var erased: Set<SecretID> = []
        for number in numbers {
            script.advance(by: .seconds(1))
            let (_, refresh) = script.get(Self.audience(number))
            let outcome = script.granted(lifetime: lifetime, secret: UInt64(10_000 + number))
            for case .erase(let secret) in script.answer(refresh, outcome) { erased.insert(secret) }
        }
        return erased
    }

    private func numbers(_ script: SessionScript) -> [Int] {
        script.session.heldTokens.values.map { Int($0.secret.rawValue) - 10_000 }.filter { $0 >= 0 }.sorted()
    }

    @Test func `a session keeps 32 tokens, however many audiences are asked for`() {
        var script = SessionScript.ready(lifetime: .seconds(100_000))
        let erased = have(1...200, &script)
        #expect(script.session.heldTokens.count == 32)
        #expect(script.session.primaryToken?.secret == SessionScript.accessToken)
        #expect(numbers(script) == Array(170...200))
        #expect(erased == Set((1...169).map { SecretID(rawValue: UInt64(10_000 + $0)) }))
        Attachment.record("200 audiences, \(script.session.heldTokens.count) tokens", named: "figure")
    }

    @Test func `what was not asked for longest goes first`() {
        var script = SessionScript.ready(lifetime: .seconds(100_000))
        _ = have(1...31, &script)
        script.advance(by: .seconds(1))
        #expect(script.get(Self.audience(1)).1.servedSecrets == [SecretID(rawValue: 10_001)])
        _ = have([32], &script)
        #expect(numbers(script) == [1] + Array(3...32))
    }

    @Test func `what has ended goes before what is used`() {
        var script = SessionScript.ready(lifetime: .seconds(100_000))
        _ = have(1...28, &script)
        _ = have(29...31, &script, lifetime: .seconds(60))
        script.advance(by: .seconds(61))
        _ = have([32], &script)
        #expect(numbers(script) == Array(1...28) + [32])
    }

    @Test func `a record of before with more tokens is opened, and brought down at the next refresh`() throws
    {
        var script = SessionScript.ready(lifetime: .seconds(100_000))
        var snapshot = try #require(script.session.snapshot(at: script.moment))
        let token = try #require(snapshot.tokens[.primary])
        for number in 1...1_406 {
            snapshot.tokens[Self.audience(number)] = token
            snapshot.tokens[Self.audience(number)]?.secret = SecretID(rawValue: UInt64(10_000 + number))
        }
        script.session = Session(
            restoring: snapshot,
            name: .named("work"),
            policy: SessionPolicy(),
            interruption: nil,
            at: script.moment
        )
        #expect(script.get(Self.audience(1_406)).1.servedSecrets == [SecretID(rawValue: 11_406)])
        #expect(have([2_000], &script).count == 1_376)
        #expect(script.session.heldTokens.count == 32)
    }

    @Test func `no more than 32 refused audiences are remembered`() throws {
        var script = SessionScript.ready(lifetime: .seconds(100_000))
        for number in 1...200 {
            let (waiter, refresh) = script.get(Self.audience(number))
            let reply = script.fail(refresh, .variantRefused).reply(to: waiter)
            #expect(reply?.secret == nil && reply != nil)
        }
        #expect(script.session.login?.refusals.count == 32)
        let (waiter, effects) = script.get(Self.audience(200))
        #expect(!effects.sendsRequest && effects.reply(to: waiter) != nil)
    }

    @Test func `what the owner waits for goes before what was asked for through a socket`() {
        var script = SessionScript.ready()
        let (_, first) = script.get(Self.audience(1), isForeign: true)
        let foreign = (2...5).map { script.get(Self.audience($0), isForeign: true).0 }
        let (own, nothing) = script.get(Self.audience(9))
        #expect(nothing.isEmpty)
        let second = script.answer(first, script.granted(secret: 600))
        let third = script.answer(second, script.granted(secret: 601))
        #expect(third.reply(to: own)?.secret == SecretID(rawValue: 601))
        #expect(
            script.answer(third, script.granted(secret: 602)).reply(to: foreign[0])?.secret
                == SecretID(rawValue: 602)
        )
    }

    @Test func `the login's own token is refreshed first when it is due`() throws {
        var script = SessionScript.ready()
        let due = try #require(script.session.wakeTime)
        script.advance(by: due - script.moment.now)
        let (foreign, refresh) = script.get(Self.audience(1), isForeign: true)
        let sent = script.reserve(refresh)
        let request = try #require(sent)
        #expect(request.variant == .primary)
        let next = script.session.refreshFinished(
            request.attempt,
            script.granted(secret: 600),
            jitter: 0,
            at: script.moment
        )
        let published = script.commitAll(next)
        #expect(script.session.primaryToken?.secret == SecretID(rawValue: 600))
        #expect(
            script.answer(published, script.granted(secret: 601)).reply(to: foreign)?.secret
                == SecretID(rawValue: 601)
        )
    }
}
