// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// Why a refresh was made: one word, from its first try to status and events.
@Suite struct RefreshReasonTests {
    /// The reason of the refresh that worked, as the session tells it afterwards.
    private func reason(_ script: inout SessionScript, _ effects: [Effect]) -> RefreshReason? {
        let all = script.answer(effects, script.granted())
        let told = all.compactMap { effect -> RefreshReason? in
            guard case .notify(let event) = effect, event.name == .refreshed else { return nil }
            #expect(event.reason == event.refreshReason?.rawValue)
            return event.refreshReason
        }
        #expect(told == [script.session.status.history.lastRefreshReason].compactMap(\.self))
        return told.last
    }

    @Test func `a planned refresh is due`() {
        var script = SessionScript.ready()
        let effects = script.sleepUntilWake()
        #expect(reason(&script, effects) == .due)
    }

    @Test func `a request that the token does not satisfy has asked`() {
        var script = SessionScript.ready()
        script.advance(by: .seconds(599))
        let (_, effects) = script.get(minimum: .seconds(60))
        #expect(reason(&script, effects) == .asked)
    }

    @Test(
        arguments: [
            (nil, nil, .person), (SessionScript.accessToken, nil, .refusedToken),
            (SessionScript.accessToken, .asked, .asked),
        ] as [(SecretID?, RefreshReason?, RefreshReason)]
    )
    func `who names a refresh is a person, a server that refused the token, or who says another reason`(
        rejected: SecretID?,
        said: RefreshReason?,
        expected: RefreshReason
    ) {
        var script = SessionScript.ready()
        let effects = script.session.refreshRequested(
            by: WaiterID(rawValue: 7),
            rejecting: rejected,
            because: said,
            deadline: script.moment.now + .seconds(30),
            at: script.moment
        )
        #expect(reason(&script, effects) == expected)
    }

    @Test(arguments: [(Duration.seconds(3_600), false, RefreshReason.start), (.seconds(10), true, .start)])
    func `what a start finds overdue or interrupted is refreshed because of it`(
        away: Duration,
        interrupted: Bool,
        expected: RefreshReason
    ) throws {
        let before = SessionScript.ready()
        let snapshot = try #require(before.session.snapshot(at: before.moment))
        var script = before
        script.advance(by: away)
        script.session = Session(
            restoring: snapshot,
            name: .named("work"),
            policy: SessionPolicy(),
            interruption: interrupted ? InterruptedRefresh(starts: 1) : nil,
            at: script.moment
        )
        let effects = script.tick()
        #expect(reason(&script, effects) == expected)
    }

    @Test func `a refresh that falls due after a start is due`() throws {
        let before = SessionScript.ready()
        let snapshot = try #require(before.session.snapshot(at: before.moment))
        var script = before
        script.session = Session(
            restoring: snapshot,
            name: .named("work"),
            policy: SessionPolicy(),
            interruption: nil,
            at: script.moment
        )
        let effects = script.sleepUntilWake()
        #expect(reason(&script, effects) == .due)
    }

    @Test func `a retry has the reason of the first try, and the failure tells it`() {
        var script = SessionScript.ready()
        script.advance(by: .seconds(599))
        let (_, asked) = script.get(minimum: .seconds(60), wait: .seconds(300))
        let failed = script.fail(asked, .busy)
        let told = failed.compactMap { effect -> RefreshReason? in
            guard case .notify(let event) = effect, event.name == .refreshFailed else { return nil }
            return event.refreshReason
        }
        #expect(told == [.asked])
        #expect(script.session.status.history.lastFailedReason == .asked)
        let retry = script.sleepUntilWake()
        #expect(reason(&script, retry) == .asked)
    }

    @Test func `the network that came back is the reason of what it brings forward`() {
        var script = SessionScript.ready()
        let due = script.sleepUntilWake()
        _ = script.fail(due, .unreachable)
        _ = script.session.networkReturned(delay: .zero, at: script.moment)
        let retry = script.tick()
        #expect(reason(&script, retry) == .networkBack)
    }

    @Test func `a configuration that was corrected is a person's doing`() {
        var script = SessionScript.ready()
        let due = script.sleepUntilWake()
        _ = script.fail(due, .misconfigured)
        let effects = script.session.retryAllowed(at: script.moment)
        #expect(reason(&script, effects) == .person)
    }
}
