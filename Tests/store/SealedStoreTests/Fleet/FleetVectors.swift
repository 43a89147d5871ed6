// SPDX-License-Identifier: MIT

import SecretMemory
import TestSupport
import TokenCore

@testable import SealedStore

/// Golden files of the fleet: the text of a key file, and values in etcd.
extension Vector {
    /// The fleet of every vector: the name key is 32 times 1, the secret of epoch n 32 times n + 1.
    static func fleetKeys(
        epochs: [UInt32] = [1],
        label: String = "production"
    ) throws(FleetKeyError) -> FleetKeys {
        try FleetKeys(fleet: Vector.vault, label: label, role: .keeper, epochs: epochs) { secrets in
            for index in secrets.indices {
                let place = index / AEAD.keyCount
                secrets[index] = place == 0 ? 1 : UInt8(truncatingIfNeeded: epochs[place - 1] + 1)
            }
        }
    }

    /// Named by ``FleetEtcdKey/Kind`` in the field `kind`, after `fleet-`.
    static let fleetKinds: [String: FleetEtcdKey.Kind] = [
        "fleet-rt": .record, "fleet-at": .access, "fleet-late": .late(.example, parent: 7, .other),
        "fleet-kept": .kept(.example), "fleet-intent": .intent, "fleet-want": .want,
    ]

    /// Returns the result of opening the vector at a host with the role in the field `secret`.
    func fleetOutcome() throws -> String {
        let role = FleetRole(rawValue: fields["secret"] ?? "") ?? .keeper
        guard let kind = Vector.fleetKinds[fields["kind"] ?? ""] else { return try fleetKeyOutcome(role) }
        let keepers = try Vector.fleetKeys(epochs: [2, 1])
        let host = try FleetHost(role == .keeper ? keepers : keepers.forReaders(), .fleet)
        do throws(FleetValueError) {
            return try host.describe(bytes, kind, since: fields["seen"].flatMap { UInt32($0) } ?? 0)
        } catch {
            return "\(error)"
        }
    }

    private func fleetKeyOutcome(_ role: FleetRole) throws -> String {
        let text = try bytes.withUnsafeBytes { try GuardedBytes(copying: $0) }
        do throws(FleetKeyError) {
            let keys = try FleetKeyFile.keys(in: text, as: role)
            let same = try Vector.fleetKeys(epochs: keys.epochs)
            let isSame = zip(keys.all, same.all).allSatisfy { $0 == nil || $0 == $1 }
            let epochs = keys.epochs.map(String.init).joined(separator: " ")
            return isSame ? "\(keys.label) \(keys.role) \(epochs)" : "other keys"
        } catch {
            return "\(error)"
        }
    }
}

extension FleetKeys {
    /// The key for each purpose, in each epoch.
    fileprivate var all: [[UInt8]?] {
        epochs.flatMap { epoch in Purpose.allCases.map { withKey(for: $0, epoch: epoch) { Array($0) } } }
    }
}

extension FleetHost {
    fileprivate func describe(
        _ bytes: [UInt8],
        _ kind: FleetEtcdKey.Kind,
        since: UInt32
    ) throws(FleetValueError) -> String {
        switch kind {
        case .record, .access:
            let values = FleetRecordValues(record: bytes, access: bytes)
            let opened = try records.open(values, of: .work, since: since, at: clock)
            return "\(opened.header == .example) \(opened.epoch) \(describe(opened.content))"
        case .late:
            let opened = try records.open(late: bytes, under: key(kind), of: .work, since: since, at: clock)
            return "\(opened.late == .example) \(opened.epoch) \(describe(opened.content))"
        case .kept: return describe(try records.open(kept: bytes, of: .example, .work, at: clock))
        case .intent: return "\(try records.intent(bytes, of: .work, since: since) == .example)"
        case .want: return "generation \(try records.want(bytes, of: .work, since: since).generation)"
        case .lock, .host: return "no such kind"
        }
    }

    private func describe(_ content: FleetSessionContent?) -> String {
        let snapshot = content?.snapshot
        let token = snapshot?.tokens[.primary]
        let texts = [
            try? refreshToken(of: content), token.flatMap { try? text($0.secret) },
            token?.expiresAt.map { "\(($0 - clock.now).wholeSeconds)" }, content?.binding.client,
        ]
        return texts.map { $0 ?? "-" }.joined(separator: " ")
    }
}

/// Writes the fleet vectors again, as ``VectorWriter`` does.
enum FleetVectorWriter {
    private static func vector(
        _ kind: String,
        _ expect: String,
        _ bytes: [UInt8],
        _ comment: String,
        reader: Bool = false
    ) -> Vector {
        let secret = (reader ? FleetRole.reader : .keeper).rawValue
        return Vector(
            ["kind": "fleet-\(kind)", "expect": expect, "comment": comment, "secret": secret],
            bytes
        )
    }

    static func vectors() throws -> [String: Vector] {
        try keyVectors().merging(try valueVectors()) { $1 }.merging(try refusedVectors()) { $1 }
    }

    private static func keyVectors() throws -> [String: Vector] {
        let keys = try Vector.fleetKeys(epochs: [2, 1])
        let keepers = try FleetKeyText.text(of: keys, for: .keeper).read { Array($0) }
        let readers = try FleetKeyText.text(of: keys, for: .reader).read { Array($0) }
        return [
            "fleet-key-keeper": vector("key", "production keeper 2 1", keepers, "two epochs"),
            "fleet-key-reader": vector("key", "production reader 2 1", readers, "two epochs", reader: true),
            "fleet-key-keeper-as-reader": vector(
                "key",
                "keepersKey",
                keepers,
                "the other file",
                reader: true
            ),
            "fleet-key-reader-as-keeper": vector("key", "readersKey", readers, "the other file"),
        ]
    }

    private static func host() throws -> (FleetHost, FleetSessionContent) {
        let host = try FleetHost(Vector.fleetKeys(), .fleet)
        return (host, try host.content())
    }

    private static func valueVectors() throws -> [String: Vector] {
        let (host, content) = try host()
        let values = try host.values(content)
        let late = try host.records.value(.example, content, of: .work, at: .fleet)
        let kept = try host.records.kept(content, of: .example, .work, at: .fleet)
        let intent = try host.records.value(FleetIntent.example, of: .work)
        let want = try host.records.value(FleetRefreshRequest(lineage: .example, generation: 7), of: .work)
        let (alone, whole) = ("true 1 RT-1 - - tokenagent", "RT-1 AT-1 2999 tokenagent")
        return [
            "fleet-rt": vector("rt", alone, values.record ?? [], "for keepers, without the readers'"),
            "fleet-at": vector(
                "at",
                "true 1 - AT-1 2999 tokenagent",
                values.access ?? [],
                "for readers",
                reader: true
            ),
            "fleet-late": vector("late", "true 1 " + whole, late, "a late answer"),
            "fleet-kept": vector("kept", whole, kept, "kept by a host"),
            "fleet-intent": vector("intent", "true", intent, "an intent with two predecessors"),
            "fleet-want": vector("want", "generation 7", want, "a wish", reader: true),
        ]
    }

    private static func refusedVectors() throws -> [String: Vector] {
        let (host, content) = try host()
        let record = try host.values(content).record ?? []
        var future = record
        future[7] = 2
        var retired = vector("rt", "retiredKey(epoch: 1)", record, "a later epoch was seen")
        retired.fields["seen"] = "2"
        return [
            "fleet-retired": retired,
            "fleet-rt-reader": vector("rt", "notAValue", record, "found by readers as theirs", reader: true),
            "fleet-version-2": vector("rt", "futureVersion(2)", future, "a newer version"),
        ]
    }
}
