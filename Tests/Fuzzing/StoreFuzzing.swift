// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

@testable import SealedStore

/// A store with a key everybody knows, so that the fuzzer gets past the seal.
private struct OpenStore: @unchecked Sendable {
    static let shared = OpenStore()

    let record = RandomID(high: 1, low: 2)
    let clock = ClockReading(
        boot: RandomID(high: 3, low: 4),
        now: .seconds(1000),
        wallTime: WallTime(secondsSince1970: 1_800_000_000)
    )
    let memory: SealedMemory
    let ring: KeyRing
    let fleet: FleetRecords

    init() {
        guard let memory = try? SealedMemory(), let room = try? MasterKey.room(),
            let keys = try? FleetKeys.random(label: "fuzz")
        else { fatalError("no memory for a key") }
        fleet = FleetRecords(keys: keys, memory: memory)
        let key = MasterKey(epoch: 1, in: room) { $0.initializeMemory(as: UInt8.self, repeating: 7) }
        self.memory = memory
        ring = KeyRing(vault: RandomID(high: 5, low: 6), current: key)
    }
}

func fuzzStore(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let file = Array(bytes.dropFirst())
    let store = OpenStore.shared
    ProcessorTime.limited("a file of the store") {
        guard first < 8 else { return fuzzFleet(file, kind: first % 4, store) }
        fuzzFile(file, kind: first % 5, store)
    }
}

private func fuzzFile(_ file: [UInt8], kind: UInt8, _ store: OpenStore) {
    switch kind {
    case 0:
        if let (vault, seal) = try? VaultFile.parse(file, path: "vault") {
            precondition(vault.slots.count <= VaultFile.maximumSlots)
            precondition(
                !seal.isValid(under: store.ring.current, vault: vault.id),
                "a forged vault is believed"
            )
        }
    case 1:
        _ = try? RecordHeader.parse(file)
    case 2:
        let reader = RecordReader(ring: store.ring, memory: store.memory, clock: store.clock)
        _ = try? reader.content(of: file, store.record)
    case 3:
        file.withUnsafeBytes { fuzzSnapshot($0, store) }
    default:
        _ = try? Manifest(file, under: store.ring)
        for isCounted in [false, true] {
            var manifest = Manifest()
            file.withUnsafeBytes { try? manifest.read(ByteReader($0), isCounted: isCounted) }
        }
    }
}

/// The content of a record as if its seal had been opened; its secrets must all leave sealed memory again.
private func fuzzSnapshot(_ plaintext: UnsafeRawBufferPointer, _ store: OpenStore) {
    let decoded = try? SnapshotDecoder.decode(
        plaintext,
        secrets: store.memory,
        at: store.clock,
        under: RecordSecretSealing(record: store.record, master: store.ring.current)
    )
    guard let (session, snapshot) = decoded else { return }
    precondition(SessionName(session.description) != nil)
    for secret in snapshot.secrets { store.memory.erase(secret) }
}

/// Names, keys and values of a fleet, in part as if a seal had been opened.
private func fuzzFleet(_ bytes: [UInt8], kind: UInt8, _ store: OpenStore) {
    guard let session = SessionName("work") else { return }
    let names = store.fleet.names
    switch kind {
    case 0:
        guard let key = names.key(named: names.all.start + bytes) else { return }
        precondition(names.bytes(of: key) == names.all.start + bytes, "a name has two spellings")
    case 1:
        guard let text = bytes.withUnsafeBytes({ try? GuardedBytes(copying: $0) }) else { return }
        for role in FleetRole.allCases {
            guard let keys = try? FleetKeyFile.keys(in: text, as: role) else { continue }
            let written = (try? FleetKeyText.text(of: keys, for: role))?.read { Array($0.dropLast()) } ?? []
            precondition(!written.isEmpty && bytes.starts(with: written), "a key has two spellings")
        }
    case 2:
        let kinds: [FleetEtcdKey.Kind] = [
            .record, .access, .late(Lineage(number: 1, id: 2), parent: 3, .lost), .intent, .want,
            .kept(.lost),
        ]
        for kind in kinds {
            let key = FleetEtcdKey(kind, of: names.name(of: session))
            guard let value = try? FleetValue(bytes, under: key) else { continue }
            precondition(!isBelieved(value, under: key, store), "a forged value is believed")
        }
    default: bytes.withUnsafeBytes { fuzzContent($0, session, store) }
    }
}

private func isBelieved(_ value: FleetValue, under key: FleetEtcdKey, _ store: OpenStore) -> Bool {
    let sealing = store.fleet.sealing
    let opens: Void? = try? sealing.open(value, under: key) { _ throws(RecordError) in }
    let isSigned: Void? = try? sealing.check(value, under: key)
    return opens != nil || isSigned != nil
}

/// The content of a value as if its seal had been opened; its secrets must all leave sealed memory again.
private func fuzzContent(_ plaintext: UnsafeRawBufferPointer, _ session: SessionName, _ store: OpenStore) {
    let time = store.clock.wallTime
    let clock = EtcdClockReading(now: store.clock.now, wallTime: time, etcdTime: time)
    let opened = try? FleetContentReader(
        plaintext,
        of: session,
        secrets: store.memory,
        at: clock,
        under: RecordSecretSealing(record: store.record, master: store.ring.current)
    )
    for secret in opened?.content?.snapshot.secrets ?? [] { store.memory.erase(secret) }
    var reader = ByteReader(plaintext)
    _ = try? reader.fleetKeeping()
}
