// SPDX-License-Identifier: MIT

import Dispatch
import Glibc
import SecretMemory
import Testing
import TokenCore

@testable import SealedStore

/// Who may change the slots of a vault, and what a change leaves as it was.
struct SlotChangeTests {
    let fixture = StoreFixture()
    /// 32 bytes that a command prints, and then a line break.
    private static let printed = String(repeating: "k", count: 32)

    private func store() throws -> OpenStore {
        let (open, _) = try fixture.unlocked()
        try open.store.addSlot(.passphrase(.text("correct horse"), cost: .floor))
        try open.store.addSlot(.external(.command, name: "pass", .text(Self.printed)))
        return open
    }

    private func keyFile() throws -> GuardedBytes {
        let bytes = try #require(Disk.read("\(fixture.statePath)/keyfile"))
        return try bytes.withUnsafeBytes { try GuardedBytes(copying: $0) }
    }

    @Test func `the secret of any slot shows who may open the store`() throws {
        let open = try store()
        try open.store.check(.passphrase(.text("correct horse")))
        try open.store.check(.key(keyFile()))
        try open.store.check(.key(.text(Self.printed)))
        try open.store.check(.key(.text(Self.printed + "\n")))
    }

    @Test func `what opens no slot shows nothing`() throws {
        let open = try store()
        let wrong = try [
            UnlockProof.passphrase(.text("correct horse\n")), .passphrase(.text(Self.printed)),
            .key(.text("correct horse")), .key(.text("\n")), .key(.text(Self.printed + "\n\n")),
            .passphrase(.text("x")), .key(GuardedBytes(count: 32)),
        ]
        for secret in wrong { #expect(throws: StoreError.wrongSecret) { try open.store.check(secret) } }
    }

    @Test func `a slot says when it was made, also after a restart and a new key`() throws {
        let open = try store()
        fixture.clocks.set(now: .seconds(20_000), wallTime: 1_900_000_000)
        try open.store.addSlot(.keyFile(path: "\(fixture.statePath)/second"))
        let made = [1_800_000_000, 1_800_000_000, 1_800_000_000, 1_900_000_000].map {
            WallTime(secondsSince1970: $0)
        }
        #expect(open.store.slots.map(\.madeAt) == made)
        try open.store.rekey(with: [
            .passphrase(.text("correct horse")), .external(slot: 2, .text(Self.printed)),
            .keyFile(path: "\(fixture.statePath)/second"),
        ])
        open.store.close()
        #expect(try fixture.unlocked().0.store.slots.map(\.madeAt) == made)
    }

    /// The vault of a version that noted no dates, with the records of its sessions.
    private func oldStore() throws {
        let (open, _) = try fixture.unlocked()
        try open.commitDurably("RT-1")
        let ring = try #require(open.store.work.withLock { $0.ledger?.ring })
        let file = try #require(open.store.work.withLock { $0.keeper?.file })
        let keyFile = try keyFile()
        var keeper = try #require(open.store.work.withLock { $0.keeper })
        var slot = file.slots[0]
        slot.madeAt = nil
        let key = try KeyWrapping.wrappingKey(keyFile, slot.stretching, vault: file.id)
        slot.wrapped = KeyWrapping.wrap(ring.current, under: key, associated: file.associatedData(of: slot))
        try keeper.apply(ChangedVault(slots: [slot], ring: ring))
        open.store.close()
    }

    @Test func `a store of an older version opens, and its slots have no date`() throws {
        try oldStore()
        #expect(Disk.read("\(fixture.statePath)/vault")?[7] == 1)
        let (open, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.count == 1)
        #expect(open.store.slots.map(\.madeAt) == [nil])
        try open.store.addSlot(.passphrase(.text("new words"), cost: .floor))
        #expect(Disk.read("\(fixture.statePath)/vault")?[7] == 2)
        #expect(open.store.slots.map(\.madeAt) == [nil, WallTime(secondsSince1970: 1_800_000_000)])
        open.store.lock()
        #expect(try open.store.unlockAutomatically().sessions.count == 1)
        open.store.lock()
        #expect(try open.store.unlock(with: .passphrase(.text("new words"))).sessions.count == 1)
    }

    @Test func `a store is written and read while a passphrase becomes a key`() throws {
        let open = try store()
        let snapshot = try open.snapshot(refreshToken: "RT-1")
        let ended = DispatchSemaphore(value: 0)
        let dear = PassphraseCost(operations: 10, memoryKiB: 262_144)
        let secrets = try (GuardedBytes.text("correct horse"), GuardedBytes.text("battery staple"))
        Thread.start {
            #expect(throws: Never.self) {
                try open.store.changePassphrase(from: secrets.0, to: secrets.1, cost: dear)
            }
            ended.signal()
        }
        var commits = 0
        while ended.wait(timeout: .now()) == .timedOut {
            #expect(open.store.commit(.work, snapshot) == .durable)
            commits += 1
        }
        // Behind the change each of them would have waited for all of it.
        #expect(commits > 5)
        #expect(open.store.slots.count == 3)
        open.store.lock()
        #expect(try open.store.unlock(with: secrets.1.asPassphrase).sessions.count == 1)
    }

    @Test func `two changes at a time are both made`() throws {
        let open = try store()
        let paths = (0..<4).map { "\(fixture.statePath)/key-\($0)" }
        DispatchQueue.concurrentPerform(iterations: paths.count) { index in
            #expect(throws: Never.self) { try open.store.addSlot(.keyFile(path: paths[index])) }
        }
        #expect(open.store.slots.count == 3 + paths.count)
        open.store.close()
        for path in paths {
            let again = try fixture.open()
            _ = try again.store.unlock(with: .keyFile(path: path))
            again.store.close()
        }
    }
}

private enum Thread {
    static func start(_ body: @escaping @Sendable () -> Void) {
        DispatchQueue(label: "change").async(execute: body)
    }
}

extension GuardedBytes {
    fileprivate var asPassphrase: UnlockSecret { .passphrase(self) }
}
