// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import SealedStore

/// A changed file can make unlocking neither cheap nor endless.
struct CostLimitTests {
    static let refused = [
        PassphraseCost(operations: 0, memoryKiB: 65_536), PassphraseCost(operations: 1, memoryKiB: 65_536),
        PassphraseCost(operations: 2, memoryKiB: 65_535), PassphraseCost(operations: 2, memoryKiB: 0),
        PassphraseCost(operations: 11, memoryKiB: 65_536),
        PassphraseCost(operations: .max, memoryKiB: 65_536),
        PassphraseCost(operations: 3, memoryKiB: 1_048_577), PassphraseCost(operations: 3, memoryKiB: .max),
    ]

    @Test(.holds("43"), arguments: refused)
    func `costs out of bounds are refused before any work`(cost: PassphraseCost) throws {
        let key = try MasterKey.random(epoch: 1)
        let slot = KeySlot(
            source: .passphrase,
            stretching: .argon2id(cost, salt: .random()),
            wrapped: [UInt8](repeating: 0, count: KeySlot.wrappedCount)
        )
        let bytes = try VaultFile(id: .random(), epoch: 1, generation: 1, slots: [slot])
            .serialized(under: key)
        let spent = ThreadTime.spent {
            #expect(throws: StoreError.unacceptableCost(path: "vault")) {
                try VaultFile.parse(bytes, path: "vault")
            }
        }
        // Measured in a debug build: 0.1 ms. The least work there is takes 50.
        #expect(spent < .milliseconds(10))
    }

    @Test(.holds("43"), arguments: [PassphraseCost.floor, .standard, .ceiling])
    func `costs within bounds are read`(cost: PassphraseCost) throws {
        let key = try MasterKey.random(epoch: 1)
        let slot = KeySlot(
            source: .passphrase,
            stretching: .argon2id(cost, salt: .random()),
            wrapped: [UInt8](repeating: 0, count: KeySlot.wrappedCount)
        )
        let file = VaultFile(id: .random(), epoch: 1, generation: 1, slots: [slot])
        #expect(try VaultFile.parse(file.serialized(under: key), path: "vault").0 == file)
    }

    @Test(.holds("52")) func `the standard cost is what the threat model asks for`() {
        #expect(PassphraseCost.standard.memoryKiB >= 262_144)
        #expect(PassphraseCost.standard.operations >= 3)
    }

    @Test(.holds("52")) func `a passphrase costs a thief a good part of a second for each guess`() throws {
        let fixture = StoreFixture()
        let (open, _) = try fixture.unlocked()
        try open.store.addSlot(.passphrase(.text("correct horse")))
        let times = try (0..<3).map { _ in
            open.store.lock()
            return try ContinuousClock().measure {
                _ = try open.store.unlock(with: .passphrase(.text("correct horse")))
            }
        }
        let fastest = try #require(times.min())
        // Far below what was measured (0.44 s), far above any shortcut.
        #expect(fastest > .milliseconds(50))
        let memory = PassphraseCost.standard.memoryKiB / 1024
        Attachment.record("\(fastest / .milliseconds(1)) ms with \(memory) MiB", named: "figure")
    }
}
