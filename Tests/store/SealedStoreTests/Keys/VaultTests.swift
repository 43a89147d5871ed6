// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing
import TokenCore

@testable import SealedStore

struct VaultTests {
    let fixture = StoreFixture()

    /// A store that opens with the key file and with "correct horse".
    func store() throws -> OpenStore {
        let (open, _) = try fixture.unlocked()
        try open.store.addSlot(.passphrase(.text("correct horse"), cost: .floor))
        try open.commitDurably("RT-1")
        return open
    }

    func unlock(_ secret: UnlockSecret) throws -> LoadedSessions {
        let open = try fixture.open()
        defer { open.store.close() }
        return try open.store.unlock(with: secret)
    }

    @Test func `a new store is uninitialized, then unlocked, then locked, then unlocked`() throws {
        let open = try fixture.open()
        #expect(open.store.state == .uninitialized)
        #expect(throws: StoreError.notInitialized) { try open.store.unlockAutomatically() }
        try open.store.initialize(with: .keyFile(path: nil))
        #expect(open.store.state == .unlocked)
        let snapshot = try open.snapshot(refreshToken: "RT-1")
        #expect(open.store.commit(.work, snapshot) == .durable)
        open.store.lock()
        #expect(open.store.state == .locked)
        #expect(open.memory.isLocked)
        #expect(throws: StorageFailure.self) {
            try open.store.reserve(.work, snapshot)
        }
        #expect(
            open.store.commit(.work, snapshot) == .memoryOnly(StorageFailure(message: "the store is locked"))
        )
        let loaded = try open.store.unlockAutomatically()
        #expect(open.store.state == .unlocked)
        #expect(try loaded.sessions.map { try open.refreshToken(of: $0.snapshot) } == ["RT-1"])
    }

    @Test func `each slot opens with its own secret only`() throws {
        try store().store.close()
        #expect(try unlock(.passphrase(.text("correct horse"))).sessions.count == 1)
        #expect(try unlock(.keyFile(path: nil)).sessions.count == 1)
        #expect(throws: StoreError.wrongPassphrase) { try unlock(.passphrase(.text("wrong horse"))) }
        Disk.write([UInt8](repeating: 1, count: 32), to: "\(fixture.statePath)/keyfile")
        #expect(throws: StoreError.wrongKeyFile(path: "\(fixture.statePath)/keyfile")) {
            try unlock(.keyFile(path: nil))
        }
        unlink("\(fixture.statePath)/keyfile")
        #expect(throws: StoreError.keyFileMissing(path: "\(fixture.statePath)/keyfile")) {
            try unlock(.keyFile(path: nil))
        }
    }

    @Test(.holds("46")) func `a removed slot never opens again and the last one stays`() throws {
        let open = try store()
        #expect(open.store.slots.map(\.source) == [.keyFile(path: nil), .passphrase])
        #expect(throws: StoreError.noSuchSlot(2)) { try open.store.removeSlot(2) }
        try open.store.removeSlot(0)
        #expect(throws: StoreError.lastSlot) { try open.store.removeSlot(0) }
        open.store.close()
        #expect(!Disk.names(fixture.statePath).contains("vault.prev"))
        #expect(throws: StoreError.wrongKeyFile(path: "\(fixture.statePath)/keyfile")) {
            try unlock(.keyFile(path: nil))
        }
        #expect(try unlock(.passphrase(.text("correct horse"))).sessions.count == 1)
    }

    @Test func `a changed passphrase replaces the old one`() throws {
        let open = try store()
        #expect(throws: StoreError.wrongPassphrase) {
            try open.store.changePassphrase(from: .text("x"), to: .text("y"), cost: .floor)
        }
        for short in ["", "x", "1234567", "ééééééé"] {
            #expect(throws: StoreError.passphraseTooShort(minimum: 8)) {
                try open.store.changePassphrase(from: .text("correct horse"), to: .text(short), cost: .floor)
            }
        }
        try open.store.changePassphrase(
            from: .text("correct horse"),
            to: .text("battery staple"),
            cost: .floor
        )
        open.store.close()
        #expect(throws: StoreError.wrongPassphrase) { try unlock(.passphrase(.text("correct horse"))) }
        #expect(try unlock(.passphrase(.text("battery staple"))).sessions.count == 1)
    }

    @Test func `a new master key needs every secret that only a person knows`() throws {
        let open = try store()
        #expect(throws: StoreError.slotSecretNeeded(1)) { try open.store.rekey() }
        #expect(throws: StoreError.slotSecretNeeded(1)) {
            try open.store.rekey(with: [.passphrase(.text("no"))])
        }
        #expect(open.store.epoch == 1)
        try open.store.rekey(with: [.passphrase(.text("correct horse"))])
        #expect(open.store.epoch == 2)
        open.store.close()
        #expect(try unlock(.passphrase(.text("correct horse"))).sessions.count == 1)
        #expect(try unlock(.keyFile(path: nil)).sessions.count == 1)
    }

    @Test func `records move to the new master key and the old one is dropped`() throws {
        let (open, _) = try fixture.unlocked()
        try open.commitDurably("RT-1")
        try open.commitDurably("RT-2", to: .home)
        try open.store.rekey()
        try open.store.rekey()
        let vaultPath = "\(fixture.statePath)/vault"
        let withOldKeys = try #require(Disk.read(vaultPath)).count
        try open.commitDurably("RT-3")
        open.store.maintain()
        let withoutOldKeys = try #require(Disk.read(vaultPath)).count
        #expect(withoutOldKeys < withOldKeys)
        #expect(open.store.maintenanceDelay == nil)
        open.store.close()
        let (second, loaded) = try fixture.unlocked()
        #expect(loaded.problems.isEmpty)
        #expect(
            try Set(loaded.sessions.map { try second.refreshToken(of: $0.snapshot) }) == ["RT-2", "RT-3"]
        )
    }

    @Test(arguments: [3_801, 65_535, 65_536, 1 << 20])
    func `a slot whose text has no room is refused, and the vault stays as it was`(count: Int) throws {
        let (open, _) = try fixture.unlocked()
        let text = String(repeating: "x", count: count)
        let refusal = StoreError.slotTooLarge(limit: 3_800)
        #expect(throws: refusal) { try open.store.addSlot(.external(.command, name: text, .text("short"))) }
        #expect(throws: refusal) { try open.store.addSlot(.keyFile(path: "/\(text)")) }
        #expect(open.store.slots.count == 1)
        open.store.close()
        #expect(try fixture.unlocked().1.problems.isEmpty)
    }

    @Test func `sixteen slots of the longest text have room`() throws {
        let (open, _) = try fixture.unlocked()
        let secret = String(repeating: "k", count: 32)
        for number in 1..<VaultFile.maximumSlots {
            let name = String(repeating: Character(Unicode.Scalar(UInt8(64 + number))), count: 3_800)
            try open.store.addSlot(.external(.command, name: name, .text(secret)))
        }
        open.store.close()
        #expect(try fixture.unlocked().0.store.slots.count == VaultFile.maximumSlots)
    }

    @Test(.holds("51")) func `an external secret opens as bytes or, when short, as a passphrase`() throws {
        let (open, _) = try fixture.unlocked()
        let long = String(repeating: "k", count: 32)
        try open.store.addSlot(.external(.systemdCredential, name: "tokenagent", .text(long)))
        try open.store.addSlot(.external(.command, name: "pass\0show\0agent", .text("short key")))
        try open.store.removeSlot(0)
        open.store.close()
        #expect(try unlock(.external(slot: 0, .text(long))).problems.isEmpty)
        #expect(try unlock(.external(slot: 1, .text("short key"))).problems.isEmpty)
        #expect(throws: StoreError.wrongExternalSecret(source: "pass show agent")) {
            try unlock(.external(slot: 1, .text(long)))
        }
        let third = try fixture.open()
        #expect(throws: StoreError.secretNeeded) { try third.store.unlockAutomatically() }
        #expect(throws: Never.self) { try third.store.unlockAutomatically(external: [0: .text(long)]) }
    }

    @Test func `a key file elsewhere is created, used and named when missing`() throws {
        let path = "\(fixture.directory.path)/elsewhere.key"
        let open = try fixture.open()
        try open.store.initialize(with: .keyFile(path: path))
        open.store.close()
        #expect(Disk.read(path)?.count == 32)
        #expect(try unlock(.keyFile(path: path)).problems.isEmpty)
        chmod(path, 0o644)
        let reason = "its mode 644 allows access by others"
        #expect(throws: StoreError.keyFileUnusable(path: path, reason: reason)) {
            try unlock(.keyFile(path: nil))
        }
        unlink(path)
        #expect(throws: StoreError.keyFileMissing(path: path)) { try unlock(.keyFile(path: nil)) }
    }

    @Test func `the automatic key file slot gives way only while nothing is stored`() throws {
        let (open, _) = try fixture.unlocked()
        try open.store.initialize(with: .passphrase(.text("first one"), cost: .floor))
        #expect(open.store.slots.map(\.source) == [.passphrase])
        try open.commitDurably("RT-1")
        #expect(throws: StoreError.sessionsStored) {
            try open.store.initialize(with: .passphrase(.text("second one"), cost: .floor))
        }
        open.store.lock()
        #expect(throws: StoreError.alreadyInitialized) {
            try open.store.initialize(with: .keyFile(path: nil))
        }
        #expect(try open.store.unlock(with: .passphrase(.text("first one"))).sessions.count == 1)
    }

    @Test func `no new vault takes the place of one that is lost`() throws {
        let (open, _) = try fixture.unlocked()
        try open.commitDurably("RT-1")
        open.store.close()
        let path = "\(fixture.statePath)/vault"
        let vault = try #require(Disk.read(path))
        unlink(path)
        let again = try fixture.open()
        #expect(throws: StoreError.missingVault(path: path)) {
            try again.store.initialize(with: .keyFile(path: nil))
        }
        again.store.close()
        #expect(StoreError.missingVault(path: path).remedy?.text.contains("restoring the vault file") == true)
        Disk.write(vault, to: path)
        let restored = try fixture.open()
        #expect(try restored.store.unlock(with: .keyFile(path: nil)).sessions.count == 1)
    }

    @Test func `an old copy of the vault is reported`() throws {
        let (open, _) = try fixture.unlocked()
        let old = try #require(Disk.read("\(fixture.statePath)/vault"))
        try open.store.addSlot(.external(.command, name: "x", .text(String(repeating: "k", count: 32))))
        open.store.close()
        Disk.write(old, to: "\(fixture.statePath)/vault")
        #expect(try unlock(.keyFile(path: nil)).problems.map(\.kind) == [.oldVault])
    }
}
