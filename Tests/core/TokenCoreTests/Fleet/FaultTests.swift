// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import TokenCore

/// Each rule of the protocol is needed, and the explorer sees what its absence does.
@Suite struct FaultTests {
    @Test(
        .holds("261"),
        arguments: [
            (Fault.lateAnswersIgnored, FleetScope(.strict, .init(due: 1, slow: 1, lost: 1)), "I3"),
            (
                .graceUnwatched,
                FleetScope(.graceSiblings, after: .crashed, .init(due: 1, slow: 1, crash: 1)),
                "I3"
            ),
            (.foreignLockDeleted, FleetScope(.graceSame, .init(due: 1, slow: 1, lost: 1)), "I1"),
            (.gatewayBelieved, FleetScope(.strict, .init(due: 1, gateway: 1)), "I1"),
            (.logoutForgotten, FleetScope(.strict, .init(due: 1, logout: 1)), "I4"),
            (.revisionsCompared, FleetScope(.strict, .init(due: 1, restore: 1)), "I1"),
            (.restoreUnseen, FleetScope(.strict, .init(due: 1, restore: 1)), "I1"),
            (
                .provenForgotten,
                FleetScope(.graceLastRefused, after: .answeredTwice, .init(due: 1, slow: 2)),
                "I3"
            ),
            (.lateAnswersDropped, FleetScope(.norevoke, .init(due: 1, slow: 1)), "I3"),
            (.refusalBelieved, FleetScope(.norevoke, confirmations: 1, .init(due: 1, lag: 1)), "I3"),
            (
                .recordingForgotten, FleetScope(.norevoke, isPrompt: true, .init(due: 1, kill: 1)),
                "the login is lost"
            ),
            (.answersCut, FleetScope(.graceLast, .init(due: 1, tardy: 2)), "I3"),
            (.alarmIgnored, FleetScope(.strict, .init(due: 1, slow: 1)), "I1"),
        ]
    )
    func `without one of its rules the protocol does harm`(
        fault: Fault,
        scope: FleetScope,
        harm: String
    ) async throws {
        let explorer = try await scope.explored(fault: fault, until: harm)
        let found = explorer.findings.first { $0.sentence.hasPrefix(harm) }
        #expect(found != nil)
        Attachment.record("\(fault): \(found?.trace.count ?? 0) steps", named: "figure")
    }
}
