// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// The sealing, signing, opening and verification of the fleet's values.
///
/// A value is bound to the fleet, to the name of its key in etcd, and to its clear part. A value that was
/// moved, exchanged or given an older header therefore does not open. A complete old value opens, and its
/// header shows that it is old. Values for readers are also signed, because every reader has the key that
/// seals them.
struct FleetSealing {
    let keys: FleetKeys
    let names: FleetNames

    init(_ keys: FleetKeys) {
        self.keys = keys
        names = FleetNames(keys)
    }

    /// Returns the associated data of a value under `key`: the fleet, the name of the key and `head`.
    func associatedData(_ head: [UInt8], under key: FleetEtcdKey) -> [UInt8] {
        let name = names.bytes(of: key)
        var bytes = Array("ta1 fleet".utf8)
        bytes.append(keys.fleet)
        bytes.append(integer: UInt16(clamping: name.count))
        return bytes + name + head
    }

    /// Seals `content` for `key`, with `clear` before it.
    func seal(
        _ content: consuming WipedBytes,
        _ clear: FleetClearPart,
        under key: FleetEtcdKey,
        epoch: UInt32
    ) throws(StorageFailure) -> [UInt8] {
        var content = content
        content.pad(toMultipleOf: PaddedSealing.block)
        let head = FleetValue.head(clear, under: key, epoch: epoch)
        let associated = associatedData(head, under: key)
        let sealed = unsafe content.read { content in
            unsafe withKey(of: key, epoch) { unsafe AEAD.seal(content, associated: associated, key: $0) }
        }
        guard let sealed else { throw FleetSealing.closed }
        guard key.kind == .access else { return head + sealed }
        guard let signature = keys.signature(of: associated + sealed, epoch: epoch) else {
            throw FleetSealing.closed
        }
        return head + sealed + signature
    }

    /// Returns `clear` followed by a MAC, for `key`.
    func sign(_ clear: FleetClearPart, under key: FleetEtcdKey) throws(StorageFailure) -> [UInt8] {
        let epoch = keys.epoch
        let head = FleetValue.head(clear, under: key, epoch: epoch)
        guard let code = code(of: head, under: key, epoch) else { throw FleetSealing.closed }
        return head + code
    }

    static let closed = StorageFailure(
        message: "this host is a reader of its fleet and cannot write this value"
    )

    /// Opens a value found under `key`.
    ///
    /// `body` gets the plaintext without its padding; the bytes are wiped when it returns.
    func open<Result>(
        _ value: FleetValue,
        under key: FleetEtcdKey,
        _ body: (UnsafeRawBufferPointer) throws(RecordError) -> Result
    ) throws(FleetValueError) -> Result {
        try checkKey(of: value, under: key)
        let associated = associatedData(value.authenticated, under: key)
        let sealed = try unsigned(value, under: key, associated)
        let opened: Result?
        do throws(RecordError) {
            opened = try unsafe withKey(of: key, value.epoch) { key throws(RecordError) in
                try unsafe PaddedSealing.open(sealed, associated: associated, key: key, body)
            }
        } catch {
            throw FleetValueError(error)
        }
        guard let opened else { throw .unknownKey(epoch: value.epoch) }
        return opened
    }

    /// Returns the sealed part of a value, after verifying the signature if the kind requires one.
    private func unsigned(
        _ value: FleetValue,
        under key: FleetEtcdKey,
        _ associated: [UInt8]
    ) throws(FleetValueError) -> ArraySlice<UInt8> {
        guard key.kind == .access else { return value.sealed }
        let sealed = value.sealed.dropLast(CryptoPrimitives.signatureCount)
        let signature = Array(value.sealed[sealed.endIndex...])
        guard keys.isSignature(signature, of: associated + sealed, epoch: value.epoch) else { throw .forged }
        return sealed
    }

    /// Verifies the MAC of a value found under `key`.
    func check(_ value: FleetValue, under key: FleetEtcdKey) throws(FleetValueError) {
        try checkKey(of: value, under: key)
        guard let code = code(of: value.authenticated, under: key, value.epoch),
            CryptoPrimitives.areEqual(Array(value.sealed), code)
        else { throw .forged }
    }

    private func checkKey(of value: FleetValue, under key: FleetEtcdKey) throws(FleetValueError) {
        guard let purpose = key.kind.purpose else { throw .notAValue }
        guard keys.has(epoch: value.epoch) else { throw .unknownKey(epoch: value.epoch) }
        guard purpose.isReaders || keys.role == .keeper else { throw .closedToReaders }
    }

    private func code(of head: [UInt8], under key: FleetEtcdKey, _ epoch: UInt32) -> [UInt8]? {
        unsafe associatedData(head, under: key).withUnsafeBytes { message in
            unsafe withKey(of: key, epoch) { unsafe CryptoPrimitives.code(of: message, key: $0) }
        }
    }

    private func withKey<Result, Failure: Error>(
        of key: FleetEtcdKey,
        _ epoch: UInt32,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard let purpose = key.kind.purpose else { return nil }
        return try unsafe keys.withKey(for: purpose, epoch: epoch, body)
    }
}

/// The sealing of secrets in a value of the fleet, with a key that only keepers have.
struct FleetSecretSealing: SecretSealing {
    let keys: FleetKeys
    let epoch: UInt32
    let name: FleetSessionName

    func seal(_ secret: UnsafeRawBufferPointer, as kind: SecretKind) throws(StorageFailure) -> [UInt8] {
        let associated = associatedData(kind)
        let sealed = unsafe keys.withKey(for: .secrets, epoch: epoch) { key in
            unsafe AEAD.seal(secret, associated: associated, key: key)
        }
        guard let sealed else { throw FleetSealing.closed }
        return sealed
    }

    func open(
        _ sealed: UnsafeRawBufferPointer,
        as kind: SecretKind,
        into plaintext: UnsafeMutableRawBufferPointer
    ) -> Bool {
        let associated = associatedData(kind)
        let isGenuine = unsafe keys.withKey(for: .secrets, epoch: epoch) { key in
            unsafe AEAD.open(sealed, associated: associated, key: key, into: plaintext)
        }
        return isGenuine == true
    }

    /// Returns the associated data, which binds a secret to its kind and to the session.
    private func associatedData(_ kind: SecretKind) -> [UInt8] {
        var bytes = Array("ta1 fleet secret".utf8)
        bytes.append(kind.rawValue)
        bytes.append(keys.fleet)
        bytes.append(name.code)
        return bytes
    }
}
