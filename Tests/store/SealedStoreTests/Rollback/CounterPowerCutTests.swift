// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import SealedStore

/// No crash between the store and its counter makes the latest store look like an older one.
struct CounterPowerCutTests {
    let stores = StoreCounterTests()

    /// The states a power cut can leave while `operation` runs on a store whose counter is at 2.
    private func images(
        _ operation: (OpenStore) throws -> Void
    ) throws -> (during: [PowerCut.Image], after: [PowerCut.Image]) {
        try stores.prepared()
        let files = RecordingFiles()
        let open = try stores.fixture.open(files)
        _ = try open.store.unlockAutomatically(counter: CounterCheckInput(reading: .value(1)))
        stores.step(open, to: 2)
        var cut = PowerCut([stores.fixture.statePath, stores.fixture.sessionsPath])
        let before = files.changes.count
        try operation(open)
        let changes = files.changes[before...]
        open.store.close()
        var seen: Set<PowerCut.Image> = Set(cut.images)
        for change in changes {
            cut.apply(change)
            seen.formUnion(cut.images)
        }
        return (Array(seen), cut.images)
    }

    @Test(.holds("45")) func `a power cut before the counter moved`() throws {
        let images = try images { open in
            try open.store.forget(.work)
            #expect(open.store.beginCounterStep() == .increment)
        }
        #expect(images.during.count >= 5)
        for image in images.during {
            let fixture = StoreFixture(image, of: stores.fixture)
            let (open, loaded) = try stores.open(fixture, at: 2)
            #expect(loaded.counter == .follows(2))
            stores.step(open, to: 3)
            open.store.close()
        }
    }

    @Test(.holds("45")) func `a power cut after the counter moved`() throws {
        let images = try images { open in
            try open.store.forget(.work)
            #expect(open.store.beginCounterStep() == .increment)
        }
        for image in images.after {
            let fixture = StoreFixture(image, of: stores.fixture)
            let (open, loaded) = try stores.open(fixture, at: 3)
            #expect(loaded.sessions.isEmpty)
            open.store.close()
        }
        var refused = 0
        for image in images.during where !images.after.contains(image) {
            do {
                let fixture = StoreFixture(image, of: stores.fixture)
                let (open, loaded) = try stores.open(fixture, at: 3)
                #expect(loaded.sessions.isEmpty, "the logout was undone")
                open.store.close()
            } catch StoreError.olderCopy(2, 3) {
                refused += 1
            }
        }
        #expect(refused > 0)
    }
}
