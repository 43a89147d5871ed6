// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

@testable import SealedStore

/// Writes the golden files again: `STORE_VECTORS=write swift test --filter VectorTests`.
///
/// Only for a new format version: committed vectors must keep opening.
enum VectorWriter {
    static func vectors() throws -> [String: Vector] {
        var all = try vaultVectors()
        for (name, vector) in try recordVectors() { all["record-\(name)"] = vector }
        for (name, vector) in try manifestVectors() { all["manifest-\(name)"] = vector }
        for (name, vector) in try FleetVectorWriter.vectors() { all[name] = vector }
        return all
    }

    private static func vector(
        _ kind: String,
        _ expect: String,
        _ bytes: [UInt8],
        _ comment: String
    ) -> Vector {
        var fields = ["kind": kind, "expect": expect, "comment": comment]
        if kind == "vault" { fields["secret"] = Vector.digits(Vector.keyFile) }
        return Vector(fields, bytes)
    }

    // MARK: - Vaults

    private static func slot(
        _ source: KeySource,
        _ stretching: KeyStretching,
        _ key: MasterKey,
        secret: [UInt8] = Vector.keyFile
    ) throws -> KeySlot {
        try slot(KeySlot(source: source, stretching: stretching, wrapped: []), key, secret: secret)
    }

    private static func slot(
        _ unwrapped: KeySlot,
        _ key: MasterKey,
        secret: [UInt8] = Vector.keyFile
    ) throws -> KeySlot {
        let place = VaultFile(id: Vector.vault, epoch: key.epoch, generation: 1, slots: [])
        var slot = unwrapped
        let stretching = slot.stretching
        let secret = try secret.withUnsafeBytes { try GuardedBytes(copying: $0) }
        let wrapping =
            stretching == .none
            ? try KeyWrapping.wrappingKey(belowCurrent: key)
            : try KeyWrapping.wrappingKey(secret, stretching, vault: Vector.vault)
        let wrapped = stretching == .none ? try Vector.masterKey(epoch: key.epoch - 1) : key
        slot.wrapped = KeyWrapping.wrap(wrapped, under: wrapping, associated: place.associatedData(of: slot))
        return slot
    }

    private static func vaultVectors() throws -> [String: Vector] {
        let key = try Vector.masterKey()
        let salt = RandomID(high: 5, low: 6)
        let keyFile = try slot(.keyFile(path: nil), .hash(salt: salt), key)
        let passphrase = try slot(
            .passphrase,
            .argon2id(.floor, salt: salt),
            key,
            secret: Array("correct".utf8)
        )
        let external = try slot(
            .external(.command, name: "cat\0f"),
            .hash(salt: salt),
            key,
            secret: Array(1...32)
        )
        func file(_ slots: [KeySlot], _ key: MasterKey = key) throws -> [UInt8] {
            try VaultFile(id: Vector.vault, epoch: key.epoch, generation: 1, slots: slots)
                .serialized(under: key)
        }
        let good = try file([keyFile, passphrase, external])
        func changed(_ offset: Int, _ value: UInt8, _ from: [UInt8] = good) -> [UInt8] {
            var bytes = from
            bytes[offset < 0 ? bytes.count + offset : offset] = value
            return bytes
        }
        let second = try Vector.masterKey(epoch: 2)
        let rekeyed = [
            try slot(.keyFile(path: nil), .hash(salt: salt), second),
            try slot(.previousKey(epoch: 1), .none, second),
        ]
        var cheap = passphrase
        cheap.stretching = .argon2id(PassphraseCost(operations: 1, memoryKiB: 65_536), salt: salt)
        var dear = passphrase
        dear.stretching = .argon2id(PassphraseCost(operations: 3, memoryKiB: 1_048_577), salt: salt)
        let slotStart = 41
        var all: [String: Vector] = [:]
        func add(_ name: String, _ expect: String, _ bytes: [UInt8], _ comment: String) {
            all["vault-\(name)"] = vector("vault", expect, bytes, comment)
        }
        add("key-file", "ok", try file([keyFile]), "one key file slot")
        add("three-slots", "ok", good, "key file, passphrase and command")
        let wrapping = "the second master key wraps the first"
        add("rekeyed", "ok-with-older-keys", try file(rekeyed, second), wrapping)
        add("only-passphrase", "wrong-secret", try file([passphrase]), "no key file slot")
        add("no-slots", "wrong-secret", try file([]), "nothing opens it")
        add("magic", "malformed", changed(0, 0x54 ^ 1), "another magic")
        add("version-0", "malformed", changed(7, 0), "no such version")
        add("version-3", "future-version", changed(7, 3), "a newer version")
        var dated = keyFile
        dated.madeAt = WallTime(secondsSince1970: 1_800_000_000)
        add(
            "dated",
            "ok",
            try file([try slot(dated, key), passphrase]),
            "version 2: one slot says when it was made"
        )
        add(
            "dated-1",
            "malformed",
            changed(7, 1, try file([try slot(dated, key)])),
            "version 1 knows no such slot"
        )
        add("suite", "malformed", changed(8, 2), "another suite")
        add("length-long", "truncated", changed(10, 0xFF), "the length points past the end")
        add("length-short", "malformed", changed(10, 0x20), "the length points before the slots")
        add("vault-id", "wrong-secret", changed(12, 0xFF), "the slots belong to another vault")
        add("epoch", "wrong-secret", changed(28, 9), "the slots belong to another epoch")
        add("generation", "header-mac", changed(32, 9), "only the MAC covers the generation")
        add("slot-removed", "malformed", changed(40, 2), "fewer slots than there are")
        add("slot-count", "malformed", changed(40, 17), "more slots than allowed")
        add("slot-type", "malformed", changed(slotStart, 9), "an unknown slot type")
        add("slot-flags", "malformed", changed(slotStart + 1, 0x80), "an unknown flag")
        add("slot-salt", "wrong-secret", changed(slotStart + 4, 0xEE), "the key file slot's salt")
        add("slot-mac", "wrong-secret", changed(slotStart + 4 + 16 + 24, 0xEE, good), "the wrapped key")
        add("other-slot", "header-mac", changed(slotStart + 92 + 4 + 30, 0xEE), "the passphrase slot's salt")
        add("cheap", "bad-kdf", try file([keyFile, cheap]), "less work than the floor")
        add("dear", "bad-kdf", try file([keyFile, dear]), "more memory than the ceiling")
        add("algorithm", "malformed", changed(slotStart + 92 + 4, 1), "Argon2i instead of Argon2id")
        add("commitment", "header-mac", changed(-64, good[good.count - 64] ^ 1), "another key commitment")
        add("mac", "header-mac", changed(-1, good[good.count - 1] ^ 1), "another MAC")
        add("truncated", "truncated", Array(good.dropLast()), "one byte short")
        add("empty", "truncated", [], "no bytes")
        add("trailing", "malformed", good + [0], "one byte too many")
        return all
    }

    // MARK: - Records

    private static func snapshot(_ memory: SealedMemory) throws -> SessionSnapshot {
        try OpenVault(memory: memory).snapshot(refreshToken: "RT", accessToken: "AT", idToken: "ID")
    }

    private static func record(
        _ phase: RecordHeader.ContentKind = .commit,
        generation: UInt64 = 7,
        epoch: UInt32 = 1,
        vaultID: RandomID = Vector.vault,
        id: RandomID = Vector.record,
        fleet: SessionFleetState? = nil
    ) throws -> [UInt8] {
        let memory = try SealedMemory()
        let ring = KeyRing(vault: vaultID, current: try Vector.masterKey(epoch: epoch))
        let entry = RecordLedgerEntry(id: id, generation: generation)
        let sealer = RecordSealer(ring: ring, memory: memory)
        guard phase != .tombstone else { return sealer.tombstone(entry) }
        let clock = ClockReading(
            boot: RandomID(high: 1, low: 2),
            now: .seconds(10_000),
            wallTime: .init(secondsSince1970: 1_800_000_000)
        )
        var snapshot = try snapshot(memory)
        snapshot.fleet = fleet
        return try sealer.seal(.named("work"), snapshot, entry, phase, at: clock)
    }

    private static func recordVectors() throws -> [String: Vector] {
        let good = try record()
        func changed(_ offset: Int, _ mask: UInt8) -> [UInt8] {
            var bytes = good
            bytes[offset < 0 ? bytes.count + offset : offset] ^= mask
            return bytes
        }
        var all: [String: Vector] = [:]
        func add(_ name: String, _ expect: String, _ bytes: [UInt8], _ comment: String) {
            all[name] = vector("record", expect, bytes, comment)
        }
        add("commit", "ok", good, "a session with three tokens")
        add("intent", "ok", try record(.intent), "about to be refreshed")
        add("fleet", "ok, of a fleet", try record(fleet: .exampleWithAnswer), "of a fleet, with an answer")
        add("tombstone", "tombstone", try record(.tombstone), "logged out")
        add("followed-by-zeros", "ok", good + [UInt8](repeating: 0, count: 64), "as read from a half")
        add("magic", "not-a-record", changed(0, 1), "another magic")
        add("version-2", "future-version", changed(7, 3), "a newer version")
        add("suite", "not-a-record", changed(8, 2), "another suite")
        add("other-vault", "other-vault", try record(vaultID: RandomID(high: 9, low: 9)), "of another vault")
        add("renamed", "misplaced", try record(id: RandomID(high: 9, low: 9)), "of another record")
        add("epoch", "unknown-key", try record(epoch: 3), "under a key this vault does not have")
        add("generation", "record-mac", changed(46, 1), "another generation")
        add("phase", "record-mac", changed(54, 1), "an intent's phase on a commit")
        add("phase-unknown", "not-a-record", changed(54, 0x40), "no such phase")
        add("length", "record-mac", changed(56, 2), "a shorter ciphertext")
        add("nonce", "record-mac", changed(59, 1), "another nonce")
        add("ciphertext", "record-mac", changed(100, 1), "another ciphertext")
        add("tag", "record-mac", changed(-1, 1), "another tag")
        add("truncated", "truncated", Array(good.dropLast()), "one byte short")
        add("header-only", "truncated", Array(good.prefix(59)), "no ciphertext")
        add("empty", "empty", [], "no bytes")
        add("zeros", "empty", [UInt8](repeating: 0, count: 200), "never written")
        add("rolled-back", "rolled-back", good, "the manifest has seen generation 8")
        all["rolled-back"]?.fields["seen"] = "8"
        return all
    }

    private static func manifestVectors() throws -> [String: Vector] {
        var manifest = Manifest()
        manifest.record(Vector.record, 7)
        let ring = KeyRing(vault: Vector.vault, current: try Vector.masterKey())
        let good = manifest.sealed(under: ring)
        var forged = good
        forged[60] ^= 1
        manifest.counter = 41
        let counted = manifest.sealed(under: ring)
        var uncounted = counted
        uncounted[7] = 1
        var future = good
        future[7] = 3
        return [
            "ok": vector("manifest", "ok", good, "one record at generation 7"),
            "mac": vector("manifest", "record-mac", forged, "another ciphertext"),
            "truncated": vector("manifest", "truncated", Array(good.prefix(40)), "cut short"),
            "counted": vector(
                "manifest",
                "ok, counter 41",
                counted,
                "version 2, with the value of a counter"
            ),
            "uncounted": vector("manifest", "record-mac", uncounted, "version 2 that claims to be version 1"),
            "version-3": vector("manifest", "other-vault", future, "a newer version"),
        ]
    }
}

/// Puts tokens into sealed memory without a store.
private struct OpenVault {
    let memory: SealedMemory

    func snapshot(refreshToken: String, accessToken: String, idToken: String) throws -> SessionSnapshot {
        func secret(_ text: String, _ kind: SecretKind) throws -> SecretID {
            try Array(text.utf8).withUnsafeBytes { try memory.seal($0, as: kind) }
        }
        let token = AccessToken(
            secret: try secret(accessToken, .accessToken),
            idToken: IDToken(
                secret: try secret(idToken, .idToken),
                life: ValidityPeriod(obtainedAt: .seconds(9_000), expiresAt: .seconds(9_600))
            ),
            tokenType: "Bearer",
            scope: ["openid"],
            obtainedAt: .seconds(9_000),
            expiresAt: .seconds(12_600),
            jitter: 0.5
        )
        return SessionSnapshot(
            standing: .loggedIn,
            renewal: .refreshToken(try secret(refreshToken, .refreshToken)),
            tokens: [.primary: token],
            loggedInAt: WallTime(secondsSince1970: 1_799_999_000),
            tokenEndpoint: "https://id.example.com/token"
        )
    }
}
