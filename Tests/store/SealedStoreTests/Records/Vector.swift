// SPDX-License-Identifier: MIT

import SecretMemory
import TestSupport

@testable import SealedStore

/// One golden file: what it is, the secret it is opened with, the class of answer a reader must give, the bytes.
///
/// A text file of `name: value` lines, an empty line, and hexadecimal digits, so that a change shows in a diff.
struct Vector {
    var fields: [String: String]
    var bytes: [UInt8]

    static let directory = BuiltPrograms.checkout + "/Tests/store/SealedStoreTests/Vectors"

    init(_ fields: [String: String], _ bytes: [UInt8]) {
        self.fields = fields
        self.bytes = bytes
    }

    init(contentsOf path: String) throws {
        let text = String(decoding: Disk.read(path) ?? [], as: UTF8.self)
        var fields: [String: String] = [:]
        var digits: [UInt8] = []
        for line in text.split(separator: "\n") {
            if let colon = line.firstIndex(of: ":") {
                fields[String(line[..<colon])] = String(line[line.index(colon, offsetBy: 2)...])
            } else {
                digits += line.utf8
            }
        }
        self.init(fields, Vector.bytes(digits))
    }

    var text: String {
        let header = ["expect", "kind", "secret", "seen", "comment"].compactMap { name in
            fields[name].map { "\(name): \($0)\n" }
        }
        var body = ""
        for start in stride(from: 0, to: bytes.count, by: 48) {
            body += Vector.digits(Array(bytes[start..<min(start + 48, bytes.count)])) + "\n"
        }
        return header.joined() + "\n" + body
    }

    static func digits(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    static func bytes(_ digits: [UInt8]) -> [UInt8] {
        stride(from: 0, to: digits.count - digits.count % 2, by: 2).map { index in
            UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) ?? 0
        }
    }

    /// The key file of every vector.
    static let keyFile = [UInt8](0..<32)
    static let vault = RandomID(high: 0x0001_0203_0405_0607, low: 0x0809_0a0b_0c0d_0e0f)
    static let record = RandomID(high: 0x1011_1213_1415_1617, low: 0x1819_1a1b_1c1d_1e1f)

    /// The master key of every vector: 32 times its epoch.
    static func masterKey(epoch: UInt32 = 1) throws -> MasterKey {
        MasterKey(epoch: epoch, in: try MasterKey.room()) { key in
            for index in key.indices { key[index] = UInt8(truncatingIfNeeded: epoch) }
        }
    }

    /// The class of answer the readers give.
    func outcome() throws -> String {
        switch fields["kind"] {
        case "vault": try vaultOutcome()
        case "record": try recordOutcome()
        case "manifest": try manifestOutcome()
        case let kind? where kind.hasPrefix("fleet-"): try fleetOutcome()
        default: "no such kind"
        }
    }

    private func vaultOutcome() throws -> String {
        let directory = TemporaryDirectory.fresh
        let state = try StoreDirectory("\(directory.path)/state")
        Disk.write(bytes, to: "\(state.path)/vault")
        Disk.write(Vector.bytes(Array((fields["secret"] ?? "").utf8)), to: "\(state.path)/keyfile")
        do throws(StoreError) {
            guard let keeper = try VaultFileStore.read(state.root) else { return "missing" }
            guard let ring = try keeper.open(with: .keyFile(path: nil)) else { return "wrong-secret" }
            return ring.older.isEmpty ? "ok" : "ok-with-older-keys"
        } catch {
            switch error {
            case .futureVersion: return "future-version"
            case .unacceptableCost: return "bad-kdf"
            case .damagedVault(_, "it is truncated"): return "truncated"
            case .damagedVault(_, "its authentication code is wrong"): return "header-mac"
            case .damagedVault: return "malformed"
            default: return "\(error)"
            }
        }
    }

    private func recordOutcome() throws -> String {
        let memory = try SealedMemory()
        let clock = ClockReading(
            boot: .random(),
            now: .seconds(1),
            wallTime: .init(secondsSince1970: 1_900_000_000)
        )
        let ring = KeyRing(vault: Vector.vault, current: try Vector.masterKey())
        let reader = RecordReader(ring: ring, memory: memory, clock: clock)
        do throws(RecordError) {
            let (header, _) = try RecordHeader.parse(bytes)
            let content = try reader.content(of: bytes, Vector.record)
            if let seen = fields["seen"].flatMap({ UInt64($0) }), header.generation < seen {
                return "rolled-back"
            }
            guard let snapshot = content?.snapshot else { return "tombstone" }
            guard let fleet = snapshot.fleet else { return "ok" }
            return fleet == .exampleWithAnswer ? "ok, of a fleet" : "another fleet"
        } catch {
            return Vector.name(of: error)
        }
    }

    private func manifestOutcome() throws -> String {
        let masterKey = try Vector.masterKey()
        do throws(RecordError) {
            let ring = KeyRing(vault: Vector.vault, current: masterKey)
            let manifest = try Manifest(bytes, under: ring)
            guard manifest[Vector.record] == 7 else { return "wrong generation" }
            return "ok" + (manifest.counter.map { ", counter \($0)" } ?? "")
        } catch {
            return Vector.name(of: error)
        }
    }

    private static func name(of fault: RecordError) -> String {
        switch fault {
        case .empty: "empty"
        case .truncated: "truncated"
        case .notARecord: "not-a-record"
        case .futureVersion: "future-version"
        case .otherVault: "other-vault"
        case .misplaced: "misplaced"
        case .unknownKey: "unknown-key"
        case .forged: "record-mac"
        case .malformed: "malformed"
        case .rolledBack: "rolled-back"
        case .file: "file"
        }
    }
}
