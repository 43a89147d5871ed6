// SPDX-License-Identifier: MIT

import CSodium
import Synchronization
import TokenCore

/// The kind of a secret; long-lived secrets are sealed under another key than access and ID tokens.
package enum SecretKind: UInt8, CaseIterable, Sendable {
    case accessToken = 1
    case idToken = 2
    case refreshToken = 3
    case clientSecret = 4
    case password = 5
    /// A private key of 32 bytes to which tokens are bound (RFC 9449).
    case proofKey = 6

    /// Whether the secret leaves the agent only towards its issuer.
    package var isLongLived: Bool {
        switch self {
        case .accessToken, .idToken: false
        case .refreshToken, .clientSecret, .password, .proofKey: true
        }
    }
}

/// The secrets of the running agent, sealed in ordinary memory, and their keys in guarded memory.
///
/// Bytes are in the clear only inside `open`. Safe to call from any thread.
package final class SealedMemory: Sendable {
    /// A secret that was found, with the keys to open it.
    package struct OpenableSecret {
        /// The number of bytes in the secret itself.
        package var count: Int { Int(sealedSecret.count) }
        fileprivate let id: SecretID
        fileprivate let sealedSecret: SealedSecret
        fileprivate let keys: GuardedBytes

        /// Opens the secret into the beginning of `place`, followed by ``spare`` zeros.
        ///
        /// The caller wipes the bytes.
        ///
        /// - Throws: ``SealedMemoryError/damaged``.
        package func open(into place: UnsafeMutableRawBufferPointer) throws(SealedMemoryError) {
            let opened = unsafe keys.read { keys in
                unsafe sealedSecret.sealed.withUnsafeBytes { sealed in
                    unsafe id.withAssociatedData(sealedSecret.kind) { associated in
                        unsafe AEAD.open(
                            sealed,
                            associated: associated,
                            key: keys.key(for: sealedSecret.kind),
                            into: UnsafeMutableRawBufferPointer(rebasing: place[..<room])
                        )
                    }
                }
            }
            guard opened else { throw .damaged }
        }

        /// Passes the bytes to `body`, then wipes them.
        ///
        /// - Throws: ``SealedMemoryError``, or the error of `body`.
        package func open<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result {
            try unsafe withUnsafeTemporaryAllocation(byteCount: room, alignment: 16) { plaintext in
                defer { if let base = plaintext.baseAddress { unsafe sodium_memzero(base, plaintext.count) } }
                unsafe try open(into: plaintext)
                return try unsafe body(UnsafeRawBufferPointer(rebasing: plaintext[..<count]))
            }
        }

        /// The number of zeros that follow the opened secret.
        package var spare: Int { room - count }

        private var room: Int { sealedSecret.sealed.count - AEAD.overhead }
    }

    /// A secret, sealed in ordinary memory.
    fileprivate struct SealedSecret {
        var kind: SecretKind
        /// The number of bytes in the secret; zeros follow it in the plaintext.
        var count: UInt32
        var sealed: [UInt8]
    }

    private struct SecretTable: ~Copyable {
        /// Two AEAD keys, the first for short-lived secrets and the second for long-lived ones, or `nil`
        /// while locked.
        var keys: GuardedBytes?
        var secrets: [SecretID: SealedSecret] = [:]
        var nextID: UInt64 = 1
    }

    private let contents: Mutex<SecretTable>

    /// Creates an empty, unlocked memory with random keys.
    ///
    /// - Throws: ``SealedMemoryError/outOfMemory``.
    package init() throws(SealedMemoryError) {
        contents = Mutex(SecretTable(keys: try SealedMemory.freshKeys()))
    }

    package var isLocked: Bool {
        contents.withLock { $0.keys == nil }
    }

    /// Seals a copy of `bytes`; the caller wipes the original.
    ///
    /// - Throws: ``SealedMemoryError/locked``.
    package func seal(
        _ bytes: UnsafeRawBufferPointer,
        as kind: SecretKind
    ) throws(SealedMemoryError) -> SecretID {
        let (id, keys) = try contents.withLock { contents throws(SealedMemoryError) in
            guard let keys = contents.keys else { throw .locked }
            defer { contents.nextID += 1 }
            return (SecretID(rawValue: contents.nextID), keys)
        }
        // Encrypt outside the lock: two threads read a store at once and seal its secrets.
        let padding = SealedMemory.padding(of: bytes.count, kind)
        let sealed = unsafe keys.read { keys in
            unsafe id.withAssociatedData(kind) { associated in
                unsafe AEAD.seal(bytes, padding: padding, associated: associated, key: keys.key(for: kind))
            }
        }
        try contents.withLock { contents throws(SealedMemoryError) in
            guard contents.keys === keys else { throw .locked }
            contents.secrets[id] = SealedSecret(kind: kind, count: UInt32(bytes.count), sealed: sealed)
        }
        return id
    }

    /// Returns the number of zeros to add to an access token, which is opened for every request.
    ///
    /// The cipher processes 256 bytes at a time, and a remainder of 200 takes longer than another 256.
    private static func padding(of count: Int, _ kind: SecretKind) -> Int {
        guard kind == .accessToken, count > 64 else { return 0 }
        return (count + 255) / 256 * 256 - count
    }

    /// Finds `id`, to be opened where the bytes are needed.
    ///
    /// - Throws: ``SealedMemoryError``.
    package func find(_ id: SecretID) throws(SealedMemoryError) -> OpenableSecret {
        try contents.withLock { contents throws(SealedMemoryError) in
            guard let keys = contents.keys else { throw .locked }
            guard let sealedSecret = contents.secrets[id] else { throw .noSuchSecret }
            return OpenableSecret(id: id, sealedSecret: sealedSecret, keys: keys)
        }
    }

    /// Passes the bytes of `id` to `body`, then wipes them.
    ///
    /// - Throws: ``SealedMemoryError``, or the error of `body`.
    package func open<Result>(
        _ id: SecretID,
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) throws -> Result {
        try unsafe find(id).open(body)
    }

    /// Returns the kind of the secret `id`, or `nil` if there is no such secret.
    package func kind(of id: SecretID) -> SecretKind? {
        contents.withLock { $0.secrets[id]?.kind }
    }

    /// Removes `id`; unknown identifiers are ignored.
    package func erase(_ id: SecretID) {
        contents.withLock { _ = $0.secrets.removeValue(forKey: id) }
    }

    /// Returns whether `candidate` is the secret `id`, in time independent of where they differ.
    ///
    /// - Throws: ``SealedMemoryError`` if the secret cannot be opened.
    package func holds(_ candidate: UnsafeRawBufferPointer, in id: SecretID) throws -> Bool {
        try unsafe open(id) { bytes in
            guard bytes.count == candidate.count, let left = bytes.baseAddress,
                let right = candidate.baseAddress
            else { return false }
            return unsafe sodium_memcmp(left, right, candidate.count) == 0
        }
    }

    /// Returns the fingerprint of `id`, or `nil` while the memory is locked or does not contain it.
    package func fingerprint(of id: SecretID) -> TokenFingerprint? {
        try? unsafe open(id) { unsafe SealedMemory.fingerprint(of: $0) }
    }

    /// Returns the BLAKE2b hash of a token's bytes.
    ///
    /// The hash reveals nothing, because tokens are random enough.
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

    /// Wipes the keys and removes every secret.
    ///
    /// An ``open(_:_:)`` in progress on another thread keeps the keys until it ends; then they are wiped.
    package func lock() {
        contents.withLock { contents in
            // The keys are wiped on release, and thus never while another thread reads them.
            contents.keys = nil
            contents.secrets.removeAll()
        }
    }

    /// Creates new random keys after ``lock()``; does nothing while unlocked.
    ///
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
    /// Passes the associated data, which binds a sealed secret to its identifier and kind, to `body`.
    ///
    /// Sealed secrets can therefore not be exchanged for one another.
    fileprivate func withAssociatedData<Result>(
        _ kind: SecretKind,
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        // Swift lays out a tuple like a C structure: nine bytes without a gap.
        unsafe withUnsafeBytes(of: (rawValue.littleEndian, kind.rawValue), body)
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func key(for kind: SecretKind) -> UnsafeRawBufferPointer {
        let start = kind.isLongLived ? AEAD.keyCount : 0
        return unsafe UnsafeRawBufferPointer(rebasing: self[start..<start + AEAD.keyCount])
    }
}
