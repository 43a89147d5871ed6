// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// A store with a counter refuses older copies of itself, and nothing else.
struct StoreCounterTests {
    let fixture = StoreFixture()

    /// Unlocks the fixture's store, or a copy, with a counter that says `counter`.
    func open(
        _ fixture: StoreFixture? = nil,
        at counter: UInt64?,
        accepting accepted: UInt64? = nil
    ) throws -> (OpenStore, LoadedSessions) {
        let open = try (fixture ?? self.fixture).open()
        let reading = counter.map { CounterReading.value($0) } ?? .notConfigured
        let evidence = CounterCheckInput(reading: reading, accepted: accepted)
        do {
            return (open, try open.store.unlockAutomatically(counter: evidence))
        } catch {
            open.store.close()
            throw error
        }
    }

    /// A store with the session RT-1 whose counter is at 1.
    func prepared() throws {
        let (open, _) = try fixture.unlocked()
        try open.commitDurably("RT-1")
        try open.store.accept(.value(0))
        step(open, to: 1)
        open.store.close()
    }

    /// Takes the step that is wanted, which leaves the counter at `counter`.
    func step(_ open: OpenStore, to counter: UInt64, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(open.store.beginCounterStep() == .increment, sourceLocation: sourceLocation)
        let problem = open.store.finishCounterStep(.increment, .value(counter))
        #expect(problem == nil, sourceLocation: sourceLocation)
        #expect(open.store.counterValue == counter, sourceLocation: sourceLocation)
    }

    func copy() -> StoreFixture {
        let copy = StoreFixture()
        Disk.copy(fixture.statePath, to: copy.statePath)
        return copy
    }

    /// Every file of the store with its bytes.
    func image(_ fixture: StoreFixture) -> [String: [UInt8]] {
        var image: [String: [UInt8]] = [:]
        for directory in [fixture.statePath, fixture.sessionsPath] {
            for name in Disk.names(directory) {
                image["\(directory)/\(name)"] = Disk.read("\(directory)/\(name)")
            }
        }
        return image
    }

    func refusal(_ fixture: StoreFixture, at counter: UInt64?) -> StoreError? {
        do {
            let (open, _) = try open(fixture, at: counter)
            open.store.close()
            return nil
        } catch {
            return error as? StoreError
        }
    }

    @Test(.holds("45")) func `an older copy of the store is refused and stays as it is`() throws {
        try prepared()
        let old = copy()
        let (open, _) = try open(at: 1)
        step(open, to: 2)
        try open.commitDurably("RT-2")
        open.store.close()
        let before = image(old)
        #expect(refusal(old, at: 2) == .olderCopy(stored: 1, counter: 2))
        let isUnchanged = image(old) == before
        #expect(isUnchanged)
        // The latest one opens, and the announcement of its end is finished.
        let (again, loaded) = try self.open(at: 2)
        #expect(try loaded.sessions.map { try again.refreshToken(of: $0.snapshot) } == ["RT-2"])
        #expect(loaded.counter == .follows(2))
        step(again, to: 3)
    }

    @Test func `a store is locked, not half open, after a refusal`() throws {
        try prepared()
        let open = try fixture.open()
        let evidence = CounterCheckInput(reading: .value(5))
        #expect(throws: StoreError.olderCopy(stored: 1, counter: 5)) {
            try open.store.unlockAutomatically(counter: evidence)
        }
        #expect(open.store.state == .locked)
        #expect(open.store.readSessions().isEmpty)
        #expect(throws: Never.self) {
            try open.store.unlockAutomatically(counter: CounterCheckInput(reading: .value(1)))
        }
    }

    @Test func `a logout cannot be undone by an older copy`() throws {
        try prepared()
        let (open, _) = try open(at: 1)
        step(open, to: 2)
        let old = copy()
        try open.store.forget(.work)
        #expect(open.store.counterDelay == .zero)
        step(open, to: 3)
        open.store.close()
        #expect(refusal(old, at: 3) == .olderCopy(stored: 2, counter: 3))
    }

    @Test func `an older vault file with slots removed since is refused with its store`() throws {
        try prepared()
        let (open, _) = try open(at: 1)
        try open.store.addSlot(.passphrase(.text("old words"), cost: .floor))
        step(open, to: 2)
        let old = copy()
        try open.store.removeSlot(1)
        step(open, to: 3)
        open.store.close()
        #expect(refusal(old, at: 3) == .olderCopy(stored: 2, counter: 3))
    }

    @Test(.holds("45")) func `an older copy without its manifest is refused`() throws {
        try prepared()
        let old = copy()
        let path = "\(old.statePath)/manifest"
        #expect(unlink(path) == 0)
        #expect(refusal(old, at: 1) == .unknownAge(path: path, counter: 1))
    }

    @Test(.holds("45")) func `a copy from before the counter was adopted is refused`() throws {
        let (first, _) = try fixture.unlocked()
        try first.commitDurably("RT-1")
        first.store.close()
        let old = copy()
        let (open, loaded) = try open(at: 0)
        #expect(loaded.counter == .adopted(0))
        step(open, to: 1)
        open.store.close()
        #expect(refusal(old, at: 1) == .unknownAge(path: "\(old.statePath)/manifest", counter: 1))
        #expect(refusal(fixture, at: 1) == nil)
    }

    @Test func `an older manifest among newer records does not help`() throws {
        try prepared()
        let manifest = try #require(Disk.read("\(fixture.statePath)/manifest"))
        let (open, _) = try open(at: 1)
        step(open, to: 2)
        open.store.close()
        Disk.write(manifest, to: "\(fixture.statePath)/manifest")
        #expect(refusal(fixture, at: 2) == .olderCopy(stored: 1, counter: 2))
    }

    @Test func `a store with a counter is not opened without it`() throws {
        try prepared()
        #expect(refusal(fixture, at: nil) == .counterNotConfigured(stored: 1))
        let (open, loaded) = try open(at: nil, accepting: 1)
        #expect(loaded.counter == .givenUp(1))
        open.store.close()
        #expect(refusal(fixture, at: nil) == nil)
    }

    @Test func `a person's word counts once`() throws {
        try prepared()
        let old = copy()
        let (open, loaded) = try open(at: 9, accepting: 9)
        #expect(loaded.counter == .accepted(9))
        step(open, to: 10)
        open.store.close()
        #expect(throws: StoreError.olderCopy(stored: 1, counter: 10)) {
            try self.open(old, at: 10, accepting: 9)
        }
        #expect(refusal(fixture, at: 10) == nil)
    }

    @Test func `a new vault in place of the old keeps the counter`() throws {
        let (open, _) = try fixture.unlocked()
        try open.store.accept(.value(4))
        step(open, to: 5)
        try open.store.initialize(with: .passphrase(.text("new words"), cost: .floor))
        step(open, to: 6)
        open.store.close()
        let again = try fixture.open()
        let evidence = CounterCheckInput(reading: .value(6))
        #expect(
            try again.store.unlock(with: .passphrase(.text("new words")), counter: evidence).counter
                == .follows(6)
        )
    }

    @Test func `a counter that cannot be read leaves a new store locked`() throws {
        let (open, _) = try fixture.unlocked()
        #expect(throws: StoreError.counterUnusable(reason: "gone")) {
            try open.store.accept(.unusable("gone"))
        }
        #expect(open.store.state == .locked)
    }

    @Test func `commits go on while a step is under way or fails`() throws {
        try prepared()
        let (open, _) = try open(at: 1)
        #expect(open.store.beginCounterStep() == .increment)
        try open.commitDurably("RT-2")
        #expect(open.store.finishCounterStep(.increment, .unusable("it hangs")) == "it hangs")
        try open.commitDurably("RT-3")
        open.store.maintain()
        #expect(open.store.counterDelay == .seconds(60))
        #expect(open.store.beginCounterStep() == .read)
        #expect(open.store.finishCounterStep(.read, .value(2)) == nil)
        open.store.close()
        #expect(refusal(fixture, at: 2) == nil)
    }

    @Test func `locking announces what changed, and the counter follows`() throws {
        try prepared()
        let (open, _) = try open(at: 1)
        step(open, to: 2)
        let old = copy()
        try open.commitDurably("RT-2")
        open.store.lock()
        step(open, to: 3)
        open.store.close()
        #expect(refusal(old, at: 3) == .olderCopy(stored: 2, counter: 3))
        #expect(refusal(fixture, at: 3) == nil)
    }
}
