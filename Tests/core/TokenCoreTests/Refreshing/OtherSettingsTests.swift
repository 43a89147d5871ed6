// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

/// Records of sessions whose settings say now that their tokens are made of something else.
@Suite struct OtherSettingsTests {
    private static func policy(_ madeOf: String?, outlives: Bool = false) -> SessionPolicy {
        SessionPolicy(tokensOutliveLogin: outlives, startsByItself: true, madeOf: madeOf)
    }

    /// A session made of `old`, restored where the settings say `new`.
    private static func restored(_ old: String?, _ new: String?) throws -> SessionScript {
        var script = SessionScript(policy: policy(old))
        _ = script.answer(script.sleepUntilWake(), script.granted())
        let snapshot = try #require(script.session.snapshot(at: script.moment))
        #expect(snapshot.madeOf == old)
        script.session = Session(
            restoring: snapshot,
            name: script.session.name,
            policy: policy(new),
            interruption: nil,
            at: script.moment
        )
        return script
    }

    @Test(arguments: [("a", "a"), (nil, "a"), (nil, nil)] as [(String?, String?)])
    func `what is made of the same, or of nobody knows what, is served`(old: String?, new: String?) throws {
        var script = try Self.restored(old, new)
        #expect(!script.session.isOfOtherSettings)
        let (waiter, effects) = script.get()
        #expect(effects.reply(to: waiter)?.secret == SecretID(rawValue: 500))
    }

    @Test(.holds("186"), arguments: [("a", "b"), ("a", nil), ("é", "e\u{301}")] as [(String?, String?)])
    func `what is made of something else is forgotten, and made anew`(old: String?, new: String?) throws {
        var script = try Self.restored(old, new)
        #expect(script.session.isOfOtherSettings)
        let effects = script.session.registrationChanged(at: script.moment)
        #expect(effects.contains(.erase(SecretID(rawValue: 500))) && effects.contains(.forget))
        #expect(effects.sendsRequest)
        #expect(!script.session.isOfOtherSettings)
        #expect(script.session.snapshot(at: script.moment)?.madeOf == new)
    }

    @Test func `a token that outlives its end is forgotten as well`() {
        var script = SessionScript(policy: Self.policy("a", outlives: true))
        _ = script.answer(script.sleepUntilWake(), script.granted())
        let lost = RefreshFailure(kind: .sourceEnded, message: "no login")
        _ = script.answer(script.sleepUntilWake(), .failed(lost))
        script.session.policyChanged(Self.policy("b", outlives: true))
        #expect(script.session.isOfOtherSettings)
        let effects = script.session.registrationChanged(at: script.moment)
        #expect(effects.contains(.erase(SecretID(rawValue: 500))))
    }

    @Test func `a session with a login is made of nothing`() {
        let script = SessionScript.ready()
        #expect(!script.session.isOfOtherSettings)
        #expect(script.session.snapshot(at: script.moment)?.madeOf == nil)
    }
}
