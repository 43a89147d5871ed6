// SPDX-License-Identifier: MIT

import TokenCore

/// Seals the long-lived secrets of one record once more, under a key that opens nothing else.
protocol SecretSealing {
    /// - Throws: ``StorageFailure`` where there is no such key.
    func seal(_ secret: UnsafeRawBufferPointer, as kind: SecretKind) throws(StorageFailure) -> [UInt8]

    /// Opens `sealed` into `plaintext`, which holds ``AEAD/overhead`` bytes less.
    /// - Returns: whether it is a secret of this kind and of this record.
    func open(
        _ sealed: UnsafeRawBufferPointer,
        as kind: SecretKind,
        into plaintext: UnsafeMutableRawBufferPointer
    ) -> Bool
}

/// For a record on disk: a key below the vault's master key.
struct RecordSecretSealing: SecretSealing {
    let record: RandomID
    let master: MasterKey

    func seal(_ secret: UnsafeRawBufferPointer, as kind: SecretKind) -> [UInt8] {
        unsafe master.withKey(for: .refreshTokens, of: record) { key in
            unsafe AEAD.seal(secret, associated: associatedData(kind), key: key)
        }
    }

    func open(
        _ sealed: UnsafeRawBufferPointer,
        as kind: SecretKind,
        into plaintext: UnsafeMutableRawBufferPointer
    ) -> Bool {
        unsafe master.withKey(for: .refreshTokens, of: record) { key in
            unsafe AEAD.open(sealed, associated: associatedData(kind), key: key, into: plaintext)
        }
    }

    /// Binds a secret to its kind and to the record.
    private func associatedData(_ kind: SecretKind) -> [UInt8] {
        var bytes = Array("ta1 secret".utf8)
        bytes.append(kind.rawValue)
        bytes.append(record)
        return bytes
    }
}
