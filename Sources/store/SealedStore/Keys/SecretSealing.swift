// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// The second sealing of a record's long-lived secrets, under a key that opens nothing else.
protocol SecretSealing {
    /// Seals `secret`.
    ///
    /// - Throws: ``StorageFailure`` if the key is not available.
    func seal(_ secret: UnsafeRawBufferPointer, as kind: SecretKind) throws(StorageFailure) -> [UInt8]

    /// Opens `sealed` into `plaintext`, which is ``AEAD/overhead`` bytes shorter.
    ///
    /// - Returns: `true` if it is a secret of this kind and of this record.
    func open(
        _ sealed: UnsafeRawBufferPointer,
        as kind: SecretKind,
        into plaintext: UnsafeMutableRawBufferPointer
    ) -> Bool
}

/// The sealing of secrets in a record on disk, with a key derived from the vault's master key.
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

    /// Returns the associated data, which binds a secret to its kind and to the record.
    private func associatedData(_ kind: SecretKind) -> [UInt8] {
        var bytes = Array("ta1 secret".utf8)
        bytes.append(kind.rawValue)
        bytes.append(record)
        return bytes
    }
}
