// SPDX-License-Identifier: MIT

import CSodium
import Synchronization
import TokenCore

/// What a secret is; long-lived secrets are sealed under another key than access and ID tokens.
package enum SecretKind: UInt8, CaseIterable, Sendable {
    case accessToken = 1
    case idToken = 2
    case refreshToken = 3
    case clientSecret = 4
    case password = 5
    /// A private key that tokens are bound to (RFC 9449), 32 bytes.
    case proofKey = 6

    /// Whether the secret never leaves the agent except to its issuer.
    var isLongLived: Bool {
        switch self {
        case .accessToken, .idToken: false
        case .refreshToken, .clientSecret, .password, .proofKey: true
        }
    }
}

/// The secrets of the running agent: sealed blobs in ordinary memory, their keys in guarded memory.
///
/// Bytes are in the clear only inside `open`. Safe to use from any thread.
package final class SealedMemory: Sendable {
    private struct Blob {
        var kind: SecretKind
        var sealed: [UInt8]
    }

    private struct Contents: ~Copyable {
        /// Two AEAD keys, short-lived secrets' first, long-lived ones' second; `nil` while locked.
        var keys: GuardedBytes?
        var blobs: [SecretID: Blob] = [:]
        var nextID: UInt64 = 1
    }

    private let contents: Mutex<Contents>

    /// An empty, unlocked memory under fresh random keys.
    /// - Throws: ``SealedMemoryError/outOfMemory``.
    package init() throws(SealedMemoryError) {
        contents = Mutex(Contents(keys: try SealedMemory.freshKeys()))
    }

    package var isLocked: Bool {
        contents.withLock { $0.keys == nil }
    }

    /// Seals a copy of `bytes`; the caller wipes its own.
    /// - Throws: ``SealedMemoryError/locked``.
    package func seal(
        _ bytes: UnsafeRawBufferPointer,
        as kind: SecretKind
    ) throws(SealedMemoryError) -> SecretID {
        try contents.withLock { contents throws(SealedMemoryError) in
            guard let keys = contents.keys else { throw .locked }
            let id = SecretID(rawValue: contents.nextID)
            contents.nextID += 1
            let sealed = unsafe keys.read { keys in
                unsafe AEAD.seal(bytes, associated: id.associatedData(kind), key: keys.key(for: kind))
            }
            contents.blobs[id] = Blob(kind: kind, sealed: sealed)
            return id
        }
    }

    /// Lends the bytes of `id` to `body`, then wipes them.
    /// - Throws: ``SealedMemoryError``, or what `body` throws.
    package func open<Result>(
        _ id: SecretID,
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) throws -> Result {
        let (blob, keys) = try contents.withLock { contents throws(SealedMemoryError) in
            guard let keys = contents.keys else { throw .locked }
            guard let blob = contents.blobs[id] else { throw .noSuchSecret }
            return (blob, keys)
        }
        let count = blob.sealed.count - AEAD.overhead
        return try unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { plaintext in
            defer { if let base = plaintext.baseAddress { unsafe sodium_memzero(base, count) } }
            let opened = unsafe keys.read { keys in
                unsafe blob.sealed.withUnsafeBytes { sealed in
                    unsafe AEAD.open(
                        sealed,
                        associated: id.associatedData(blob.kind),
                        key: keys.key(for: blob.kind),
                        into: plaintext
                    )
                }
            }
            guard opened else { throw SealedMemoryError.damaged }
            return try unsafe body(UnsafeRawBufferPointer(plaintext))
        }
    }

    /// What kind of secret `id` is, or `nil` when it names nothing.
    package func kind(of id: SecretID) -> SecretKind? {
        contents.withLock { $0.blobs[id]?.kind }
    }

    /// Forgets `id`; unknown identifiers are ignored.
    package func erase(_ id: SecretID) {
        contents.withLock { _ = $0.blobs.removeValue(forKey: id) }
    }

    /// Whether `candidate` is the secret `id`, in time independent of where they differ.
    package func holds(_ candidate: UnsafeRawBufferPointer, in id: SecretID) throws -> Bool {
        try unsafe open(id) { bytes in
            guard bytes.count == candidate.count, let left = bytes.baseAddress,
                let right = candidate.baseAddress
            else { return false }
            return unsafe sodium_memcmp(left, right, candidate.count) == 0
        }
    }

    /// The fingerprint of `id`; `nil` while sealed memory is locked or does not hold it.
    package func fingerprint(of id: SecretID) -> TokenFingerprint? {
        try? unsafe open(id) { unsafe SealedMemory.fingerprint(of: $0) }
    }

    /// BLAKE2b of a token's bytes; tokens are random enough that nothing can be learned from it.
    package static func fingerprint(of token: UnsafeRawBufferPointer) -> TokenFingerprint? {
        var digest = [UInt8](repeating: 0, count: TokenFingerprint.byteCount)
        let status = unsafe crypto_generichash(
            &digest,
            digest.count,
            token.baseAddress?.assumingMemoryBound(to: UInt8.self),
            UInt64(token.count),
            nil,
            0
        )
        return status == 0 ? TokenFingerprint(digest) : nil
    }

    /// Wipes the keys and drops every blob.
    ///
    /// An ``open(_:_:)`` under way on another thread has the keys until it ends, and then they are wiped.
    package func lock() {
        contents.withLock { contents in
            // They are wiped when released, but never while somebody reads them.
            contents.keys = nil
            contents.blobs.removeAll()
        }
    }

    /// Draws fresh keys after ``lock()``; does nothing when unlocked.
    /// - Throws: ``SealedMemoryError/outOfMemory``.
    package func unlock() throws(SealedMemoryError) {
        try contents.withLock { contents throws(SealedMemoryError) in
            guard contents.keys == nil else { return }
            contents.keys = try SealedMemory.freshKeys()
        }
    }

    private static func freshKeys() throws(SealedMemoryError) -> GuardedBytes {
        let keys = try GuardedBytes(count: 2 * AEAD.keyCount)
        keys.randomize()
        return keys
    }
}

extension SecretID {
    /// Binds a blob to its identifier and kind, so that blobs cannot be exchanged for one another.
    fileprivate func associatedData(_ kind: SecretKind) -> [UInt8] {
        unsafe withUnsafeBytes(of: rawValue.littleEndian) { unsafe Array($0) } + [kind.rawValue]
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func key(for kind: SecretKind) -> UnsafeRawBufferPointer {
        let start = kind.isLongLived ? AEAD.keyCount : 0
        return unsafe UnsafeRawBufferPointer(rebasing: self[start..<start + AEAD.keyCount])
    }
}
