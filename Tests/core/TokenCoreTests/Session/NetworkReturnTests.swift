// SPDX-License-Identifier: MIT

import Testing

@testable import TokenCore

/// Events after which the network may be available again.
@Suite struct NetworkReturnTests {
    private func names(_ texts: String...) throws -> [SessionName] {
        try texts.map { try #require(SessionName($0)) }
    }

    @Test func `an issuer that was only out of reach is asked by all its sessions again`() throws {
        let sessions = try names("a", "b", "c", "d")
        let now = Instant.seconds(1000)
        var pacing = IssuerPacing(at: now)
        let unreachable = RefreshFailure(kind: .unreachable, message: "no route to host")
        for session in sessions {
            pacing.requested(by: session, isReplay: false, isDemanded: false, neededBy: now)
        }
        let first = pacing.admit(at: now)
        #expect(first.count == 4)
        for session in sessions { pacing.finished(session, unreachable, at: now) }
        for session in sessions {
            pacing.requested(by: session, isReplay: false, isDemanded: false, neededBy: now)
        }
        let probe = pacing.admit(at: now)
        #expect(probe.isEmpty)
        pacing.networkReturned()
        let others = pacing.admit(at: now)
        #expect(others.count == 4)
    }

    @Test func `an issuer's own wish to be left alone is kept`() throws {
        let session = try names("a")[0]
        let now = Instant.seconds(1000)
        var pacing = IssuerPacing(at: now)
        pacing.requested(by: session, isReplay: false, isDemanded: true, neededBy: now)
        let asked = pacing.admit(at: now)
        #expect(asked == [session])
        let busy = RefreshFailure(kind: .busy, message: "429", retryAfter: .seconds(60))
        pacing.finished(session, busy, at: now)
        pacing.requested(by: session, isReplay: false, isDemanded: true, neededBy: now)
        pacing.networkReturned()
        #expect(pacing.admit(at: now).isEmpty)
        let later = pacing.admit(at: now + .seconds(60))
        #expect(later == [session])
    }

    @Test func `an attempt that is out is left to its answer`() {
        var script = SessionScript.ready()
        let due = script.sleepUntilWake()
        let before = script.session.attemptInFlight
        #expect(before != nil && !due.isEmpty)
        let effects = script.session.networkReturned(delay: .zero, at: script.moment)
        #expect(effects.isEmpty)
        #expect(script.session.attemptInFlight == before)
    }
}
