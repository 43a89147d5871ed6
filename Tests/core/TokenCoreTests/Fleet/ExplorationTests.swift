// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

/// Every order of events within a few faults, with the code that runs in the agent.
@Suite struct ExplorationTests {
    /// Each a few thousand states at most: without optimisation a thousand take seconds.
    static let small: [FleetScope] = [
        FleetScope(.strict, .init(due: 1, slow: 1)),
        FleetScope(.strict, .init(due: 1, lost: 1, gateway: 1)),
        FleetScope(.strict, .init(due: 1, busy: 1)),
        // A replica that lags, and a refresh token that the server has ended.
        FleetScope(.strict, confirmations: 1, .init(due: 1, lag: 1)),
        FleetScope(.norevoke, confirmations: 1, .init(due: 1, ended: 1)),
        FleetScope(.graceLast, confirmations: 1, .init(due: 1, lag: 1)),
        // A newer key.
        FleetScope(.norevoke, .init(due: 1, rekey: 1)),
        FleetScope(.norevoke, .init(due: 1, crash: 1)),
        // An agent is killed, and its guard has the answer.
        FleetScope(.strict, .init(due: 1, kill: 1)),
        FleetScope(.keeps, .init(due: 1, kill: 1)),
        FleetScope(.strict, isShown: true, .init(due: 1, kill: 1)),
        FleetScope(.graceSame, .init(due: 1, lost: 1)),
        FleetScope(.graceSiblings, .init(due: 1, gone: 1)),
        FleetScope(.graceLast, .init(due: 1, lost: 1)),
        FleetScope(.keeps, .init(due: 1, lost: 1)),
        FleetScope(.strict, .init(login: 1, logout: 1)),
        FleetScope(.strict, .init(login: 1, restore: 1)),
        FleetScope(.norevoke, .init(unanswered: 1, login: 1, logout: 1)),
        FleetScope(.strict, isOneSecond: true, .init(login: 2, logout: 1)),
        FleetScope(.strict, .init(due: 1, restore: 1)),
        FleetScope(.keeps, .init(due: 1, restore: 1)),
        // The server acts in time, and its answer comes at any later moment.
        FleetScope(.strict, .init(due: 1, tardy: 1)),
        FleetScope(.graceSame, .init(due: 1, tardy: 1)),
        FleetScope(.graceSiblings, .init(due: 1, tardy: 1)),
        FleetScope(.graceLast, .init(due: 1, tardy: 1)),
        FleetScope(.graceLastRefused, .init(due: 1, tardy: 1)),
        FleetScope(.norevoke, .init(due: 1, tardy: 1, login: 1)),
        // The watch shows the keys, now and then what was true before.
        FleetScope(.strict, isShown: true, .init(due: 1, unanswered: 1)),
        FleetScope(.graceSame, isShown: true, .init(due: 1, late: 1)),
        FleetScope(.norevoke, isShown: true, .init(unanswered: 1, login: 1, logout: 1, late: 1)),
    ]

    static let large: [FleetScope] = [
        FleetScope(.strict, .init(due: 1, slow: 1, crash: 1, lost: 1)),
        FleetScope(.norevoke, .init(due: 2, slow: 1, crash: 1)),
        FleetScope(.norevoke, .init(due: 1, slow: 1, restore: 1)),
        FleetScope(.strict, confirmations: 1, .init(due: 1, slow: 1, crash: 1, lag: 1)),
        FleetScope(.norevoke, confirmations: 1, .init(due: 1, slow: 1, unanswered: 1, ended: 1)),
        FleetScope(.graceSame, confirmations: 1, .init(due: 1, slow: 1, lost: 1, lag: 1)),
        FleetScope(.norevoke, hosts: 3, confirmations: 2, .init(due: 1, lag: 1, ended: 1)),
        FleetScope(.graceSame, .init(due: 1, slow: 1, lost: 1)),
        FleetScope(.graceSiblings, .init(due: 1, slow: 1, crash: 1)),
        FleetScope(.graceLast, .init(due: 1, slow: 1, crash: 1)),
        FleetScope(.graceLastRefused, .init(due: 1, slow: 1, crash: 1)),
        FleetScope(.keeps, .init(due: 1, slow: 1, restore: 1)),
        FleetScope(.norevoke, hosts: 3, .init(due: 1, slow: 1, lost: 1)),
        FleetScope(.graceSame, hosts: 3, .init(due: 1, lost: 1)),
        FleetScope(.strict, .init(due: 1, slow: 1, login: 1, logout: 1)),
        FleetScope(.strict, .init(due: 1, slow: 1, login: 2)),
        FleetScope(.strict, .init(due: 1, slow: 1, restore: 1)),
        FleetScope(.strict, .init(due: 1, logout: 1, restore: 1)),
        FleetScope(.norevoke, .init(unanswered: 1, login: 2, restore: 1)),
        FleetScope(.strict, isShown: true, .init(due: 1, slow: 1, late: 1)),
        FleetScope(.strict, isShown: true, .init(due: 1, restore: 1, late: 1)),
        FleetScope(.strict, isShown: true, .init(due: 1, login: 1, logout: 1, late: 1)),
        FleetScope(.strict, hasTurns: true, .init(due: 1, slow: 1, crash: 1)),
        FleetScope(.strict, .init(due: 2, slow: 1, kill: 2)),
        FleetScope(.norevoke, confirmations: 1, .init(due: 1, slow: 1, kill: 1, lag: 1)),
        FleetScope(.graceSame, .init(due: 1, slow: 1, kill: 1, lost: 1)),
        FleetScope(.graceLastRefused, .init(due: 1, slow: 1, kill: 2)),
        FleetScope(.norevoke, hosts: 3, .init(due: 1, kill: 1, lost: 1)),
        FleetScope(.strict, .init(due: 1, slow: 1, tardy: 2)),
        FleetScope(.graceSame, .init(due: 1, slow: 1, lost: 1, tardy: 1)),
        FleetScope(.graceLast, .init(due: 1, slow: 1, tardy: 2)),
        FleetScope(.graceSiblings, hosts: 3, .init(due: 1, tardy: 2)),
        FleetScope(.keeps, .init(due: 1, slow: 1, tardy: 1)),
        FleetScope(.strict, .init(due: 1, tardy: 1, restore: 1)),
        FleetScope(.norevoke, .init(due: 1, tardy: 1, login: 1, logout: 1)),
        FleetScope(.strict, .init(due: 1, kill: 1, restore: 1)),
        FleetScope(.strict, .init(due: 1, kill: 1, login: 1, logout: 1)),
        FleetScope(.strict, .init(due: 1, unanswered: 1, busy: 1)),
        FleetScope(.strict, confirmations: 1, .init(due: 1, slow: 1)),
        FleetScope(.strict, confirmations: 1, .init(due: 1, lost: 1, lag: 1)),
        FleetScope(.norevoke, confirmations: 1, .init(due: 1, crash: 1, ended: 1)),
        FleetScope(.graceLast, confirmations: 1, .init(due: 1, lag: 1, ended: 1)),
        FleetScope(.norevoke, .init(due: 1, lost: 1, unanswered: 1, rekey: 1)),
        FleetScope(.norevoke, .init(due: 1, crash: 1, lost: 1)),
        FleetScope(.strict, .init(due: 1, slow: 1, kill: 1)),
        FleetScope(.strict, confirmations: 1, .init(due: 1, kill: 1, unanswered: 1)),
        FleetScope(.norevoke, .init(due: 1, crash: 1, kill: 1)),
        FleetScope(.graceLast, .init(due: 1, kill: 1)),
        FleetScope(.keeps, .init(due: 1, slow: 1, kill: 1)),
        FleetScope(.norevoke, .init(due: 1, kill: 1, login: 1)),
        FleetScope(.graceLastRefused, .init(due: 1, crash: 1)),
        FleetScope(.keeps, .init(due: 1, slow: 1, lost: 1)),
        FleetScope(.strict, .init(due: 1, login: 1, logout: 1)),
        FleetScope(.strict, .init(login: 2, restore: 1)),
        FleetScope(.graceSame, .init(due: 1, slow: 1, tardy: 1)),
        FleetScope(.graceSiblings, .init(due: 1, crash: 1, tardy: 1)),
        FleetScope(.graceLast, .init(due: 1, tardy: 2)),
        FleetScope(.graceLastRefused, .init(due: 1, kill: 1, tardy: 1)),
        FleetScope(.graceLast, isShown: true, .init(due: 1, tardy: 1)),
        FleetScope(.graceSame, isShown: true, .init(due: 1, lost: 1, late: 1)),
        FleetScope(.keeps, isShown: true, .init(due: 1, slow: 1, lost: 1)),
    ]

    /// Those in which nobody dawdles.
    static let prompt: [FleetScope] = [
        FleetScope(.graceSiblings, isPrompt: true, .init(due: 1, gone: 1, lost: 1)),
        FleetScope(.graceLast, isPrompt: true, .init(due: 1, gone: 1)),
        FleetScope(.graceSame, isPrompt: true, .init(due: 1, tardy: 3)),
        FleetScope(.graceSiblings, isPrompt: true, .init(due: 1, lost: 1, tardy: 1)),
        FleetScope(.graceLast, isPrompt: true, .init(due: 1, tardy: 2)),
        FleetScope(.graceSame, isPrompt: true, .init(due: 1, crash: 1)),
        FleetScope(.graceLastRefused, isPrompt: true, .init(due: 1, gateway: 1)),
        FleetScope(.keeps, isPrompt: true, .init(due: 1, crash: 1)),
    ]

    static let largePrompt: [FleetScope] = [
        FleetScope(.graceSame, isPrompt: true, .init(due: 1, crash: 1, lost: 1)),
        FleetScope(.graceLast, hosts: 3, isPrompt: true, .init(due: 1, crash: 1)),
        FleetScope(.graceLastRefused, isPrompt: true, .init(due: 2, lost: 1, gateway: 1)),
        FleetScope(.keeps, isPrompt: true, .init(due: 1, crash: 1, gone: 1, lost: 1)),
        FleetScope(.graceLast, hosts: 3, isPrompt: true, hasTurns: true, .init(due: 1, crash: 1)),
        FleetScope(.graceLast, isPrompt: true, .init(due: 2, tardy: 2)),
    ]

    @Test(.holds("261"), arguments: small)
    func `no order of events does harm, and from every state there is a way to rest`(
        scope: FleetScope
    ) async throws {
        let explorer = try await scope.explored()
        #expect(explorer.isComplete)
        #expect(explorer.findings == [])
        Attachment.record("\(scope.testDescription): \(explorer.states) states", named: "figure")
    }

    @Test(
        .holds("261"),
        .enabled(if: TestEnvironment.isFull, "takes minutes; set TOKENAGENT_TEST_FULL=1"),
        arguments: large
    )
    func `nor with more hosts and more faults at once`(scope: FleetScope) async throws {
        let explorer = try await scope.explored()
        #expect(explorer.isComplete)
        #expect(explorer.findings == [])
        Attachment.record("\(scope.testDescription): \(explorer.states) states", named: "figure")
    }

    @Test(.holds("261"), arguments: prompt + (TestEnvironment.isFull ? largePrompt : []))
    func `with a grace no death of a host loses a login, if the others are awake`(
        scope: FleetScope
    ) async throws {
        let explorer = try await scope.explored()
        #expect(explorer.isComplete)
        #expect(explorer.findings == [])
    }

    @Test(
        .holds("262"),
        arguments: [
            FleetScope(.strict, isPrompt: true, .init(due: 2, kill: 2)),
            FleetScope(.norevoke, hosts: 3, isPrompt: true, .init(due: 1, kill: 1)),
            FleetScope(.graceLast, isPrompt: true, .init(due: 1, kill: 2)),
        ]
    )
    func `without a grace too an agent may be killed, if it is started again in time`(
        scope: FleetScope
    ) async throws {
        let explorer = try await scope.explored()
        #expect(explorer.isComplete)
        #expect(explorer.findings == [])
    }

    @Test(.holds("261"))
    func `without a grace an answer that was saved nowhere is the end, as nothing can be done`()
        async throws
    {
        let explorer = try await FleetScope(.strict, isPrompt: true, .init(due: 1, lost: 1)).explored()
        #expect(explorer.findings.map(\.sentence) == ["the login is lost although a grace was open"])
    }
}
