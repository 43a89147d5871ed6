// SPDX-License-Identifier: MIT

import Testing
import TokenCore

@testable import SealedStore

/// The fleet's state in a host's own records.
struct FleetKeepingTests {
    static let all: [SessionFleetState?] = [
        nil, .example, .exampleWithAnswer,
        SessionFleetState(memory: FleetPersistentState(), attempt: nil, epoch: 0),
        {
            var keeping = SessionFleetState.exampleWithAnswer
            keeping.memory.record?.status = .dead(.replyLost)
            keeping.memory.answer?.placedIn = 0
            keeping.memory.isRestored = true
            keeping.memory.place = FleetRevision(cluster: 0, revision: .min)
            keeping.others[.lost] = []
            return keeping
        }(),
        {
            var keeping = SessionFleetState.example
            keeping.memory.record?.status = .out
            keeping.memory.isUnpublished = true
            keeping.memory.sending = PendingSend(parent: .example, intent: .example, cluster: 5)
            keeping.memory.place = nil
            keeping.epoch = .max
            return keeping
        }(),
    ]

    @Test(arguments: all)
    func `what a host keeps of the fleet comes back after a restart, with its tokens`(
        keeping: SessionFleetState?
    ) throws {
        let fixture = StoreFixture()
        let (open, _) = try fixture.unlocked()
        var snapshot = try open.snapshot(refreshToken: "RT-1")
        snapshot.fleet = keeping
        #expect(open.store.commit(.work, snapshot) == .durable)
        open.store.close()
        let (again, loaded) = try fixture.unlocked()
        let found = try #require(loaded.sessions.first).snapshot
        #expect(loaded.problems.isEmpty && found.fleet == keeping)
        #expect(try again.refreshToken(of: found) == "RT-1")
    }

    @Test func `a login that is over everywhere is kept without tokens until the fleet knows`() throws {
        let fixture = StoreFixture()
        let (open, _) = try fixture.unlocked()
        var keeping = SessionFleetState.example
        keeping.memory.record?.status = .out
        keeping.memory.isUnpublished = true
        keeping.attempt = nil
        var snapshot = try open.snapshot(refreshToken: "RT-1")
        snapshot.standing = .ended(.loggedOut, quarantinedUntil: nil)
        snapshot.renewal = .impossible
        snapshot.tokens = [:]
        snapshot.fleet = keeping
        #expect(open.store.commit(.work, snapshot) == .durable)
        open.store.close()
        let found = try #require(try fixture.unlocked().1.sessions.first).snapshot
        #expect(found.secrets.isEmpty && found.fleet == keeping)
    }
}
