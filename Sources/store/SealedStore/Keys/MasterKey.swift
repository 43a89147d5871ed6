// SPDX-License-Identifier: MIT

import CSodium
import SecretMemory

/// The key on which everything on disk depends, with its derived keys, in guarded memory.
///
/// Each purpose has its own subkey, and each record has two keys below those. A ciphertext therefore opens
/// only in the place for which it was made.
final class MasterKey: Sendable {
    /// The purpose of a derived key; the raw value is its index and its subkey number.
    enum Purpose: Int, CaseIterable {
        /// The MAC of the vault file.
        case header = 1
        /// Records as a whole.
        case records
        /// Refresh tokens and other long-lived secrets inside records.
        case refreshTokens
        /// The manifest.
        case manifest
        /// Earlier master keys.
        case previousKey
        /// The clients registered at servers.
        case registrations
        /// The heads of recorded responses.
        case answers

        fileprivate var context: String {
            switch self {
            case .header: "ta1hdr.."
            case .records: "ta1rec.."
            case .refreshTokens: "ta1ref.."
            case .manifest: "ta1man.."
            case .previousKey: "ta1old.."
            case .registrations: "ta1reg.."
            case .answers: "ta1ans.."
            }
        }
    }

    /// The number of the master key in its vault, counted from 1.
    let epoch: UInt32
    private let keys: GuardedBytes

    /// Lets `fill` write the master key, 32 bytes, and derives the other keys from it.
    ///
    /// - Throws: the error of `fill`.
    init<Failure: Error>(
        epoch: UInt32,
        in keys: GuardedBytes,
        _ fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        self.epoch = epoch
        self.keys = keys
        try unsafe keys.write { all throws(Failure) in
            try unsafe fill(MasterKey.place(0, in: all))
            for purpose in Purpose.allCases {
                unsafe CryptoPrimitives.subkey(
                    UInt64(purpose.rawValue),
                    context: purpose.context,
                    of: UnsafeRawBufferPointer(MasterKey.place(0, in: all)),
                    into: MasterKey.place(purpose.rawValue, in: all)
                )
            }
        }
    }

    /// Returns guarded memory for a master key and its derived keys.
    static func room() throws(SealedMemoryError) -> GuardedBytes {
        try GuardedBytes(count: (Purpose.allCases.count + 1) * AEAD.keyCount)
    }

    /// Creates a random key.
    static func random(epoch: UInt32) throws(SealedMemoryError) -> MasterKey {
        let room = try room()
        return unsafe MasterKey(epoch: epoch, in: room) { key in
            if let base = key.baseAddress { unsafe randombytes_buf(base, key.count) }
        }
    }

    /// Passes the master key to `body`, for wrapping.
    func withMasterKey<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe keys.read { all throws(Failure) in
            try unsafe body(UnsafeRawBufferPointer(rebasing: all[..<AEAD.keyCount]))
        }
    }

    /// Passes the key for `purpose` to `body`.
    func withKey<Result, Failure: Error>(
        for purpose: Purpose,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let start = purpose.rawValue * AEAD.keyCount
        return try unsafe keys.read { all throws(Failure) in
            try unsafe body(UnsafeRawBufferPointer(rebasing: all[start..<start + AEAD.keyCount]))
        }
    }

    /// Passes the key for `purpose` within one record to `body`.
    func withKey<Result, Failure: Error>(
        for purpose: Purpose,
        of record: RandomID,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var message: [UInt8] = []
        message.append(record)
        return try unsafe withUnsafeTemporaryAllocation(byteCount: AEAD.keyCount, alignment: 16) {
            key throws(Failure) in
            defer { if let base = key.baseAddress { unsafe sodium_memzero(base, key.count) } }
            unsafe withKey(for: purpose) { unsafe CryptoPrimitives.hash(message, key: $0, into: key) }
            return try unsafe body(UnsafeRawBufferPointer(key))
        }
    }

    /// Returns a commitment to this key: XChaCha20-Poly1305 alone may open under more than one key.
    func commitment(vault: RandomID) -> [UInt8] {
        var message = Array("ta1 commit".utf8)
        message.append(vault)
        message.append(integer: epoch)
        return unsafe [UInt8](unsafeUninitializedCapacity: 32) { output, count in
            let output = unsafe UnsafeMutableRawBufferPointer(start: output.baseAddress, count: 32)
            unsafe withMasterKey { unsafe CryptoPrimitives.hash(message, key: $0, into: output) }
            count = 32
        }
    }

    /// Returns the MAC of the vault file's bytes.
    func authenticationCode(_ bytes: [UInt8]) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 32) { output, count in
            let output = unsafe UnsafeMutableRawBufferPointer(start: output.baseAddress, count: 32)
            unsafe withKey(for: .header) { unsafe CryptoPrimitives.hash(bytes, key: $0, into: output) }
            count = 32
        }
    }

    private static func place(
        _ index: Int,
        in all: UnsafeMutableRawBufferPointer
    ) -> UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(
            rebasing: all[index * AEAD.keyCount..<(index + 1) * AEAD.keyCount]
        )
    }
}
