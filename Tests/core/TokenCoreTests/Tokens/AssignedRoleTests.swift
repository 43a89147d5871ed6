// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

/// Roles that are had for a login's own token, as IAM Identity Center gives them.
@Suite struct AssignedRoleTests {
    private static let policy = SessionPolicy(tokensOutliveLogin: false, roles: .variants)
    private static let hour = Duration.seconds(3_600)
    private static let reader = TokenVariant(scopes: [], audience: "111122223333/ReadOnly")
    private static let admin = TokenVariant(scopes: [], audience: "111122223333/Admin")

    private static func ready(
        _ lifetime: Duration = hour,
        renewal: RenewalMethod = .refreshToken(SessionScript.refreshToken)
    ) -> SessionScript {
        SessionScript.ready(lifetime: lifetime, policy: policy, renewal: renewal)
    }

    /// A login with the role `reader`, whose credentials live an hour and have the number 600.
    private static func withRole() -> SessionScript {
        var script = ready()
        let (_, begin) = script.get(reader)
        _ = script.answer(begin, script.granted(lifetime: hour, secret: 600))
        return script
    }

    @Test(arguments: [
        ("111122223333", "Admin", true), ("111122223333", "a+b=c,d.e@f-g_1", true),
        ("11112222333", "Admin", false),
        ("1111222233334", "Admin", false), ("11112222333x", "Admin", false), ("١١١١٢٢٢٢٣٣٣٣", "Admin", false),
        ("111122223333", "", false), ("111122223333", "a/b", false), ("111122223333", "a b", false),
        ("111122223333", "a\u{1B}", false), ("111122223333", "é", false),
        ("111122223333", String(repeating: "a", count: 65), false),
    ])
    func `a role is an account and a name as Amazon has them`(account: String, name: String, isRole: Bool) {
        let role = AssignedAWSRole(account: account, name: name)
        #expect((role != nil) == isRole)
        #expect(role.flatMap { AssignedAWSRole($0.variant) } == role)
    }

    @Test func `other variants are no roles`() {
        for variant in [
            .primary, TokenVariant(scopes: ["a"], audience: "111122223333/Admin"),
            TokenVariant(scopes: [], audience: "https://api.example"),
            TokenVariant(scopes: [], audience: "Admin"),
        ] {
            #expect(AssignedAWSRole(variant) == nil)
        }
    }

    @Test(.holds("188"))
    func `a role is had for the login's own token, and its refresh token is not at stake`() throws {
        var script = Self.ready()
        let (waiter, begin) = script.get(Self.reader)
        #expect(!begin.isReserved(in: script))
        let requestSent = script.reserve(begin)
        let request = try #require(requestSent)
        #expect(request.renewal == .withoutLogin && request.accessToken == SessionScript.accessToken)
        #expect(request.variant == Self.reader && !script.session.isReplaying)
        let done = script.answer(begin, script.granted(lifetime: Self.hour, secret: 600))
        #expect(done.reply(to: waiter)?.secret == SecretID(rawValue: 600))
        let snapshot = try #require(script.session.snapshot(at: script.moment))
        #expect(!snapshot.refreshTokenSent && snapshot.renewal == .refreshToken(SessionScript.refreshToken))
        #expect(script.restarted().session.heldTokens[Self.reader]?.secret == SecretID(rawValue: 600))
    }

    @Test func `many requests for a role are one, and another role is another`() {
        var script = Self.ready()
        let (first, begin) = script.get(Self.reader)
        let (second, nothing) = script.get(Self.reader)
        let (other, queued) = script.get(Self.admin)
        #expect(nothing.isEmpty && queued.isEmpty)
        let done = script.answer(begin, script.granted(lifetime: Self.hour, secret: 600))
        #expect(done.reply(to: first)?.secret == done.reply(to: second)?.secret)
        #expect(done.reply(to: other) == nil)
        let rest = script.answer(done, script.granted(lifetime: Self.hour, secret: 601))
        #expect(rest.reply(to: other)?.secret == SecretID(rawValue: 601))
    }

    @Test func `a login whose own token has ended is renewed first`() throws {
        var script = Self.ready(.seconds(600))
        script.advance(by: .seconds(700))
        let (waiter, begin) = script.get(Self.reader)
        let firstSent = script.reserve(begin)
        let first = try #require(firstSent)
        #expect(first.variant == .primary && first.renewal == .refreshToken(SessionScript.refreshToken))
        let granted = script.granted(refreshToken: SecretID(rawValue: 501))
        let effects = script.session.refreshFinished(first.attempt, granted, jitter: 0, at: script.moment)
        let next = script.commitAll(effects)
        let secondSent = script.reserve(next)
        let second = try #require(secondSent)
        #expect(second.variant == Self.reader && second.accessToken == SecretID(rawValue: 500))
        let done = script.answer(next, script.granted(lifetime: Self.hour, secret: 600))
        #expect(done.reply(to: waiter)?.secret == SecretID(rawValue: 600))
    }

    @Test func `a refused token of the login is replaced, and the role asked for again`() throws {
        var script = Self.ready()
        let (waiter, begin) = script.get(Self.reader)
        let renewal = script.fail(begin, .sourceRefused)
        #expect(renewal.notified == [.refreshFailed] && renewal.reply(to: waiter) == nil)
        let next = script.answer(renewal, script.granted(lifetime: Self.hour))
        let requestSent = script.reserve(next)
        let request = try #require(requestSent)
        #expect(request.accessToken == SecretID(rawValue: 500))
        let done = script.answer(next, script.granted(lifetime: Self.hour, secret: 600))
        #expect(done.reply(to: waiter)?.secret == SecretID(rawValue: 600))
    }

    @Test(.holds("188")) func `a server that refuses every token is not asked at the rate of the requests`() {
        var script = Self.ready()
        let (waiter, begin) = script.get(Self.reader)
        let renewal = script.fail(begin, .sourceRefused)
        let next = script.answer(renewal, script.granted(lifetime: Self.hour))
        #expect(script.fail(next, .sourceRefused).reply(to: waiter)?.isHeldBack == true)
        #expect(!script.get(Self.reader, wait: .zero).1.sendsRequest)
        // That the token was refused is written down first.
        let written = script.tick()
        #expect(!written.sendsRequest && script.commitAll(written).isEmpty)
        let wake = script.session.wakeTime
        #expect(wake.map { $0 > script.moment.now } == true)
    }

    @Test(.holds("188"), arguments: FailureClass.allCases.filter { $0 != .sourceRefused && $0 != .storage })
    func `no failure of a role says anything about the login`(kind: FailureClass) throws {
        var script = Self.ready()
        let (_, begin) = script.get(Self.reader, wait: .seconds(1))
        _ = script.fail(begin, kind)
        #expect(script.get().1.servedSecrets == [SessionScript.accessToken])
        script.advance(by: .seconds(3_500))
        let due = script.tick()
        let requestSent = script.reserve(due)
        let request = try #require(requestSent)
        #expect(request.renewal == .refreshToken(SessionScript.refreshToken))
        #expect(request.variant == .primary && !script.session.isReplaying)
    }

    @Test func `a role that nobody wants any more renews nothing`() {
        var script = Self.ready()
        let (_, begin) = script.get(Self.reader)
        _ = script.fail(begin, .busy)
        #expect(!script.sleepUntilWake().sendsRequest)
        #expect(script.session.status.state == .ready)
    }

    @Test func `a role that is refused is asked for again a minute later, and others at once`() {
        var script = Self.ready()
        let (waiter, begin) = script.get(Self.reader)
        guard case .failure(.misconfigured)? = script.fail(begin, .misconfigured).reply(to: waiter) else {
            Issue.record("the role was not refused")
            return
        }
        #expect(!script.get(Self.reader).1.sendsRequest)
        let (_, other) = script.get(Self.admin)
        #expect(other.sendsRequest)
        _ = script.answer(other, script.granted(lifetime: Self.hour))
        script.advance(by: .seconds(61))
        #expect(script.get(Self.reader).1.sendsRequest)
    }

    @Test func `another token of the login leaves its roles as they are`() {
        var script = Self.withRole()
        script.advance(by: .seconds(20))
        let (_, begin) = script.get(minimum: .seconds(4_000))
        let outcome = script.granted(lifetime: Self.hour, refreshToken: SecretID(rawValue: 501))
        #expect(script.answer(begin, outcome).notified == [.refreshed])
        let (_, served) = script.get(Self.reader)
        #expect(served.servedSecrets == [SecretID(rawValue: 600)] && !served.sendsRequest)
    }

    @Test(.holds("188"))
    func `credentials that are about to end are not handed out, even if there are no others`() {
        var script = Self.withRole()
        script.advance(by: .seconds(2_699))
        let (_, early) = script.get(Self.reader)
        #expect(early.servedSecrets == [SecretID(rawValue: 600)])
        _ = script.fail(early, .busy)
        script.advance(by: .seconds(2))
        let (waiter, begin) = script.get(Self.reader)
        let reply = (begin + script.fail(begin, .busy)).reply(to: waiter)
        #expect(reply?.isTemporary == true)
        let (_, least) = script.get(Self.reader, minimum: .seconds(60))
        #expect(least.servedSecrets == [SecretID(rawValue: 600)])
    }

    @Test func `a login without a refresh token has roles until its token ends`() {
        var script = Self.ready(renewal: .impossible)
        let (waiter, begin) = script.get(Self.reader)
        let done = script.answer(begin, script.granted(lifetime: Self.hour * 2, secret: 600))
        #expect(done.reply(to: waiter)?.secret == SecretID(rawValue: 600))
        let (other, refused) = script.get(Self.admin)
        #expect(script.fail(refused, .sourceRefused).reply(to: other)?.isLoginRequired == true)
        #expect(script.get(Self.reader).1.servedSecrets.isEmpty)
    }

    @Test func `the end of the login is the end of its roles`() {
        var script = Self.withRole()
        script.advance(by: .seconds(20))
        let (_, begin) = script.get(minimum: .seconds(4_000))
        _ = script.fail(begin, .interactionRequired)
        let (waiter, effects) = script.get(Self.reader)
        #expect(effects.reply(to: waiter)?.isLoginRequired == true)
    }
}
