// SPDX-License-Identifier: MIT

import CSodium
import SecretMemory
import TokenCore

/// The clients that the agent has registered at servers, sealed in one file.
///
/// ```
/// "TKAREG\0" | u8 version 1 | u16 suite 1 | vault_id[16] | u32 epoch | nonce | sealed | tag
/// sealed: u32 count | count × (issuer | redirect address | authentication | client id | method
///         | u32 count, redirect addresses | secret | management address | management token
///         | u8 0 or 1 | i64 end)
/// ```
///
/// Integers are little endian. Each text follows its 4-byte length, which is the highest value if there is no
/// text. The end of the secret counts if the byte before it is 1.
enum RegistrationFile {
    static let name = "registrations"
    /// The maximum size in bytes of a file that is read, enough for hundreds of registrations.
    static let limit = 8 << 20
    private static let magic = Array("TKAREG\0".utf8)
    private static let version: UInt8 = 1
    private static let headerCount = SealedFileHeader.count(magic)

    private static func header(vault: RandomID, epoch: UInt32) -> [UInt8] {
        SealedFileHeader.bytes(magic, version: version, vault: vault, epoch: epoch)
    }

    /// Returns the bytes of the file.
    ///
    /// - Throws: ``StorageFailure`` if a secret is not in memory.
    static func sealed(
        _ registrations: [ClientRegistration],
        secrets memory: SealedMemory,
        under ring: KeyRing
    ) throws(StorageFailure) -> [UInt8] {
        var content = WipedBytes()
        content.append(integer: UInt32(registrations.count))
        for registration in registrations { try content.append(registration, secrets: memory) }
        content.pad(toMultipleOf: PaddedSealing.block)
        let header = header(vault: ring.vault, epoch: ring.current.epoch)
        return unsafe content.read { content in
            unsafe ring.current.withKey(for: .registrations) { key in
                unsafe header + AEAD.seal(content, associated: header, key: key)
            }
        }
    }

    /// Opens the bytes of the file and puts the secrets into `memory`.
    ///
    /// - Returns: the registrations, and the epoch of the file's key.
    /// - Throws: ``RecordError``; then nothing of the file stays in memory.
    static func open(
        _ bytes: [UInt8],
        secrets memory: SealedMemory,
        under ring: KeyRing
    ) throws(RecordError) -> (registrations: [ClientRegistration], epoch: UInt32) {
        guard bytes.count >= headerCount + AEAD.overhead else { throw .truncated }
        let given = Array(bytes[..<headerCount])
        let keys = [ring.current] + ring.older.values
        guard let key = keys.first(where: { header(vault: ring.vault, epoch: $0.epoch) == given }) else {
            throw .otherVault
        }
        let count = bytes.count - headerCount - AEAD.overhead
        var registrations: [ClientRegistration] = []
        do {
            try unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { plaintext in
                defer { if let base = plaintext.baseAddress { unsafe sodium_memzero(base, count) } }
                let isGenuine = unsafe bytes.withUnsafeBytes { bytes in
                    let sealed = unsafe UnsafeRawBufferPointer(rebasing: bytes[headerCount...])
                    return unsafe key.withKey(for: .registrations) {
                        unsafe AEAD.open(sealed, associated: given, key: $0, into: plaintext)
                    }
                }
                guard isGenuine else { throw RecordError.forged }
                var reader = unsafe ByteReader(UnsafeRawBufferPointer(plaintext))
                for _ in 0..<(try reader.integer(UInt32.self)) {
                    registrations.append(try reader.registration(secrets: memory))
                }
            }
        } catch {
            for secret in registrations.flatMap(\.secrets) { memory.erase(secret) }
            throw error as? RecordError ?? .malformed("\(error)")
        }
        return (registrations, key.epoch)
    }
}

extension WipedBytes {
    mutating func append(
        _ registration: ClientRegistration,
        secrets memory: SealedMemory
    ) throws(StorageFailure) {
        let purpose = registration.purpose
        for text in [
            purpose.issuer, purpose.redirectURI, purpose.authentication, registration.clientID,
            registration.method,
        ] {
            append(text)
        }
        append(integer: UInt32(registration.redirectURIs.count))
        for address in registration.redirectURIs { append(address) }
        try append(registration.secret, from: memory)
        if let address = registration.managementURI { append(address) } else { append(integer: UInt32.max) }
        try append(registration.managementToken, from: memory)
        append(registration.secretExpiresAt == nil ? 0 : 1)
        append(integer: registration.secretExpiresAt?.secondsSince1970 ?? 0)
    }

    private mutating func append(_ secret: SecretID?, from memory: SealedMemory) throws(StorageFailure) {
        guard let secret else { return append(integer: UInt32.max) }
        do {
            try unsafe memory.open(secret) { bytes in
                append(integer: UInt32(bytes.count))
                unsafe append(bytes)
            }
        } catch {
            throw StorageFailure(message: "a registered client's secret is no longer in memory")
        }
    }
}

extension ByteReader {
    mutating func registration(secrets memory: SealedMemory) throws -> ClientRegistration {
        let purpose = ClientRegistration.LookupKey(
            issuer: try required(),
            redirectURI: try required(),
            authentication: try required()
        )
        let (client, method) = (try required(), try required())
        var addresses: [String] = []
        for _ in 0..<(try integer(UInt32.self)) { addresses.append(try required()) }
        var registration = ClientRegistration(
            purpose: purpose,
            clientID: client,
            redirectURIs: addresses,
            method: method
        )
        let secret = try sealed(in: memory)
        let management: String?
        let token: SecretID?
        do {
            management = try optional()
            token = try sealed(in: memory)
        } catch {
            if let secret { memory.erase(secret) }
            throw error
        }
        registration.secret = secret
        registration.managementURI = management
        registration.managementToken = token
        let hasEnd = try integer(UInt8.self) == 1
        let end: Int64 = try integer()
        if hasEnd { registration.secretExpiresAt = WallTime(secondsSince1970: end) }
        return registration
    }

    mutating func required() throws(RecordError) -> String {
        try text(Int(try integer(UInt32.self)))
    }

    private mutating func optional() throws(RecordError) -> String? {
        let count = try integer(UInt32.self)
        return count == .max ? nil : try text(Int(count))
    }

    private mutating func sealed(in memory: SealedMemory) throws -> SecretID? {
        let count = try integer(UInt32.self)
        guard count != .max else { return nil }
        return try unsafe memory.seal(try take(Int(count)), as: .clientSecret)
    }
}
