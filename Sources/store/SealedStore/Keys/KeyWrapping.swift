// SPDX-License-Identifier: MIT

import CSodium
import SecretMemory

/// The derivation of wrapping keys from the secrets of slots, and the wrapping of master keys.
enum KeyWrapping {
    /// Returns the 32-byte wrapping key for `secret` in a slot of `vault`.
    ///
    /// - Throws: ``StoreError/outOfMemory`` if Argon2's memory is not available.
    static func wrappingKey(
        _ secret: GuardedBytes,
        _ stretching: KeyStretching,
        vault: RandomID
    ) throws(StoreError) -> GuardedBytes {
        let key = try guardedKey()
        switch stretching {
        case .argon2id(let cost, let salt): try stretch(secret, cost, salt, into: key)
        case .hash(let salt):
            var message = Array("ta1 keyfile".utf8)
            message.append(salt)
            message.append(vault)
            unsafe secret.read { secret in
                unsafe key.write { unsafe CryptoPrimitives.hash(message, key: secret, into: $0) }
            }
        case .none: throw .secretNeeded
        }
        return key
    }

    /// Returns the key that wraps the predecessors of `key`.
    static func wrappingKey(belowCurrent key: MasterKey) throws(StoreError) -> GuardedBytes {
        let copy = try guardedKey()
        unsafe key.withKey(for: .previousKey) { bytes in
            unsafe copy.write { unsafe $0.copyMemory(from: bytes) }
        }
        return copy
    }

    private static func guardedKey() throws(StoreError) -> GuardedBytes {
        try StoreError.allocating { () throws(SealedMemoryError) in try GuardedBytes(count: AEAD.keyCount) }
    }

    private static func stretch(
        _ secret: GuardedBytes,
        _ cost: PassphraseCost,
        _ salt: RandomID,
        into key: GuardedBytes
    ) throws(StoreError) {
        var saltBytes: [UInt8] = []
        saltBytes.append(salt)
        let done = unsafe secret.read { secret in
            unsafe key.write { key in
                guard let keyBytes = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    let passphrase = unsafe secret.baseAddress?.assumingMemoryBound(to: CChar.self)
                else { return false }
                return unsafe crypto_pwhash(
                    keyBytes,
                    UInt64(key.count),
                    passphrase,
                    UInt64(secret.count),
                    saltBytes,
                    UInt64(cost.operations),
                    Int(cost.memoryKiB) * 1024,
                    crypto_pwhash_ALG_ARGON2ID13
                ) == 0
            }
        }
        guard done else { throw .outOfMemory }
    }

    /// Wraps `masterKey`, bound to `associated`.
    static func wrap(_ masterKey: MasterKey, under key: GuardedBytes, associated: [UInt8]) -> [UInt8] {
        unsafe masterKey.withMasterKey { masterKey in
            unsafe key.read { unsafe AEAD.seal(masterKey, associated: associated, key: $0) }
        }
    }

    /// Unwraps a master key, or returns `nil` if `key` or `associated` is not the one it was wrapped with.
    static func unwrap(
        _ wrapped: [UInt8],
        under key: GuardedBytes,
        associated: [UInt8],
        epoch: UInt32
    ) throws(StoreError) -> MasterKey? {
        let room = try StoreError.allocating(MasterKey.room)
        var isGenuine = false
        let masterKey = unsafe MasterKey(epoch: epoch, in: room) { plaintext in
            isGenuine = unsafe wrapped.withUnsafeBytes { wrapped in
                unsafe key.read {
                    unsafe AEAD.open(wrapped, associated: associated, key: $0, into: plaintext)
                }
            }
        }
        return isGenuine ? masterKey : nil
    }
}
