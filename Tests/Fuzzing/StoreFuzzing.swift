// SPDX-License-Identifier: MIT

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

    init() {
        guard let memory = try? SealedMemory(), let room = try? MasterKey.room() else {
            fatalError("no memory for a key")
        }
        let key = MasterKey(epoch: 1, in: room) { $0.initializeMemory(as: UInt8.self, repeating: 7) }
        self.memory = memory
        ring = KeyRing(vault: RandomID(high: 5, low: 6), current: key)
    }
}

func fuzzStore(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let file = Array(bytes.dropFirst())
    let store = OpenStore.shared
    ProcessorTime.limited("a file of the store") { fuzzFile(file, kind: first % 5, store) }
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
        record: store.record,
        under: store.ring.current
    )
    guard let (session, snapshot) = decoded else { return }
    precondition(SessionName(session.description) != nil)
    for secret in snapshot.secrets { store.memory.erase(secret) }
}
