// SPDX-License-Identifier: MIT

import SecretMemory
import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// Recovery from every state that a power failure can cause during an operation.
struct PowerCutTests {
    /// A store with one session whose refresh token is RT-1.
    let template = StoreFixture()

    init() throws {
        let (open, _) = try template.unlocked()
        try open.commitDurably("RT-1")
        open.store.close()
    }

    /// The contents of a recovered store.
    struct Found: Equatable {
        var refreshTokens: [String?]
        var interrupted: Bool
        var fleet: [SessionFleetState] = []
    }

    /// Runs `operation` on an unlocked copy, cuts the power after every change and hands what recovery found to
    /// `check`, together with whether the operation had returned.
    func enumerate(
        prepare: (OpenStore, SessionSnapshot) throws -> Void = { _, _ in },
        operation: (OpenStore, SessionSnapshot) throws -> Void,
        check: (Found, _ acknowledged: Bool) -> Void
    ) async throws -> Int {
        let fixture = StoreFixture()
        Disk.copy(template.statePath, to: fixture.statePath)
        let files = RecordingFiles()
        do {
            let (open, loaded) = try fixture.unlocked()
            try prepare(open, try #require(loaded.sessions.first).snapshot)
            open.store.close()
        }
        let (open, loaded) = try fixture.unlocked(files)
        var cut = PowerCut([fixture.statePath, fixture.sessionsPath])
        let before = files.changes.count
        try operation(open, try #require(loaded.sessions.first).snapshot)
        let changes = files.changes[before...]
        open.store.close()

        var seen: Set<PowerCut.Image> = []
        for step in 0...changes.count {
            if step > 0 { cut.apply(changes[before + step - 1]) }
            for image in cut.images where step == changes.count || seen.insert(image).inserted {
                await Task.yield()
                check(try recover(image, of: fixture), step == changes.count)
            }
        }
        return seen.count
    }

    private func recover(_ image: PowerCut.Image, of original: StoreFixture) throws -> Found {
        let fixture = StoreFixture(image, of: original)
        let (open, loaded) = try fixture.unlocked()
        defer { open.store.close() }
        let tokens = try loaded.sessions.map { try open.refreshToken(of: $0.snapshot) }
        return Found(
            refreshTokens: tokens,
            interrupted: loaded.sessions.contains(where: \.isInterrupted),
            fleet: loaded.sessions.compactMap(\.snapshot.fleet)
        )
    }

    @Test(.holds("56")) func `a refresh`() async throws {
        let states = try await enumerate { open, old in
            try open.store.reserve(.work, old)
            try open.commitDurably("RT-2")
        } check: { found, acknowledged in
            #expect(found.refreshTokens == ["RT-2"] || !acknowledged && found.refreshTokens == ["RT-1"])
        }
        print("a refresh: \(states) states")
        #expect(states >= 10)
    }

    @Test(.holds("56")) func `a reservation that was acknowledged is found as an interrupted refresh`()
        async throws
    {
        let states = try await enumerate { open, old in
            try open.store.reserve(.work, old)
        } check: { found, acknowledged in
            #expect(found.refreshTokens == ["RT-1"])
            #expect(found.interrupted || !acknowledged)
        }
        #expect(states > 5)
    }

    @Test(.holds("56")) func `the refresh after an interrupted one`() async throws {
        let states = try await enumerate { open, old in
            try open.store.reserve(.work, old)
        } operation: { open, old in
            try open.store.reserve(.work, old)
            try open.commitDurably("RT-2")
        } check: { found, acknowledged in
            #expect(
                found.refreshTokens == ["RT-2"]
                    || !acknowledged && found == Found(refreshTokens: ["RT-1"], interrupted: true)
            )
        }
        print("a refresh after an interrupted one: \(states) states")
        #expect(states >= 10)
    }

    @Test(.holds("56")) func `a second attempt after one without answer`() async throws {
        let states = try await enumerate { open, old in
            try open.store.reserve(.work, old)
            open.store.release(.work, answered: false)
            try open.store.reserve(.work, old)
            try open.commitDurably("RT-2")
        } check: { found, acknowledged in
            #expect(found.refreshTokens == ["RT-2"] || !acknowledged && found.refreshTokens == ["RT-1"])
        }
        #expect(states >= 10)
    }

    /// Without the answer the host knows of none; with it, it knows what the answer was to and under which intent.
    @Test func `a refresh in a fleet leaves the answer with what has to become of it, or neither`()
        async throws
    {
        let before = SessionFleetState.example
        let after = SessionFleetState.exampleWithAnswer
        let states = try await enumerate { open, old in
            var held = old
            held.fleet = before
            #expect(open.store.commit(.work, held) == .durable)
        } operation: { open, held in
            try open.store.reserve(.work, held)
            var answered = try open.snapshot(refreshToken: "RT-2")
            answered.fleet = after
            #expect(open.store.commit(.work, answered) == .durable)
        } check: { found, acknowledged in
            let isNew = found.refreshTokens == ["RT-2"] && found.fleet == [after]
            let isOld = found.refreshTokens == ["RT-1"] && found.fleet == [before]
            #expect(isNew || !acknowledged && isOld)
        }
        print("a refresh in a fleet: \(states) states")
        #expect(states >= 10)
    }

    @Test(.holds("56")) func `a login over an existing session`() async throws {
        let states = try await enumerate { open, _ in
            try open.commitDurably("RT-2")
        } check: { found, acknowledged in
            #expect(found.refreshTokens == ["RT-2"] || !acknowledged && found.refreshTokens == ["RT-1"])
        }
        print("a login: \(states) states")
        #expect(states > 5)
    }

    @Test(.holds("56")) func `a first login beside another session`() async throws {
        let states = try await enumerate { open, _ in
            try open.commitDurably("RT-9", to: .home)
        } check: { found, acknowledged in
            let tokens = found.refreshTokens.compactMap(\.self).sorted()
            #expect(tokens == ["RT-1", "RT-9"] || !acknowledged && tokens == ["RT-1"])
        }
        #expect(states > 5)
    }

    @Test(.holds("56")) func `a logout`() async throws {
        let states = try await enumerate { open, _ in
            try open.store.forget(.work)
        } check: { found, acknowledged in
            #expect(found.refreshTokens.isEmpty || !acknowledged && found.refreshTokens == ["RT-1"])
        }
        print("a logout: \(states) states")
        #expect(states > 5)
    }

    @Test(.holds("56")) func `a logout during a refresh`() async throws {
        let states = try await enumerate { open, old in
            try open.store.reserve(.work, old)
            try open.store.forget(.work)
        } check: { found, acknowledged in
            #expect(found.refreshTokens.isEmpty || !acknowledged && found.refreshTokens == ["RT-1"])
        }
        #expect(states > 5)
    }

    @Test(.holds("46", "56")) func `a new master key and the move of the records to it`() async throws {
        let states = try await enumerate { open, _ in
            try open.store.rekey()
            open.store.maintain()
            #expect(open.store.epoch == 2)
        } check: { found, _ in
            #expect(found.refreshTokens == ["RT-1"])
        }
        print("a rekey: \(states) states")
        #expect(states >= 10)
    }

    @Test(.holds("46", "56")) func `slots added and removed`() async throws {
        let secret = [UInt8](repeating: 7, count: 32)
        let states = try await enumerate { open, _ in
            let bytes = try secret.withUnsafeBytes { try GuardedBytes(copying: $0) }
            try open.store.addSlot(.external(.command, name: "cat\0secret", bytes))
            try open.store.removeSlot(1)
        } check: { found, _ in
            #expect(found.refreshTokens == ["RT-1"])
        }
        #expect(states >= 10)
    }
}
