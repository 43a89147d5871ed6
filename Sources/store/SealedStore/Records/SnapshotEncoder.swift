// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// An encoder of a session as the plaintext of a record.
///
/// Version 1, integers little endian, texts and byte strings with a 4-byte length, optional fields after a
/// byte 0/1: clocks (boot, boot time, wall time), session name, secrets, standing, renewal, flags, access
/// tokens, account, key, and the fields of ``RecordField``. Access tokens name their secrets by number, so
/// that an ID token shared by several is written once. Refresh tokens and other long-lived secrets are sealed
/// once more, under a key that opens nothing else.
struct SnapshotEncoder: ~Copyable {
    static let version: UInt8 = 1

    private var bytes = WipedBytes()
    private var numbers: [SecretID: UInt16] = [:]

    /// Encodes `snapshot`, with its secrets taken from `memory`.
    ///
    /// - Throws: ``StorageFailure`` if one of them is missing.
    static func encode(
        _ session: SessionName,
        _ snapshot: SessionSnapshot,
        secrets memory: SealedMemory,
        at clock: ClockReading,
        under sealing: any SecretSealing
    ) throws(StorageFailure) -> WipedBytes {
        var encoder = SnapshotEncoder()
        encoder.bytes.append(integer: version)
        encoder.append(clock)
        encoder.bytes.append(session.description)
        try encoder.append(snapshot.secrets, memory, sealing)
        try encoder.append(snapshot)
        return encoder.finished()
    }

    private consuming func finished() -> WipedBytes { bytes }

    private mutating func append(_ clock: ClockReading) {
        bytes.append(clock.boot)
        bytes.append(integer: clock.now.nanoseconds)
        bytes.append(integer: clock.wallTime.secondsSince1970)
    }

    private mutating func append(
        _ secrets: Set<SecretID>,
        _ memory: SealedMemory,
        _ sealing: any SecretSealing
    ) throws(StorageFailure) {
        try append(count: secrets.count, of: "secrets")
        for (number, id) in secrets.sorted(by: { $0.rawValue < $1.rawValue }).enumerated() {
            numbers[id] = UInt16(exactly: number)
            guard let kind = memory.kind(of: id) else {
                throw StorageFailure(message: "cannot store a token: it is no longer in memory")
            }
            do {
                try unsafe memory.open(id) { secret in try unsafe append(secret, kind, sealing) }
            } catch let failure as StorageFailure {
                throw failure
            } catch {
                throw StorageFailure(message: "cannot open a token to store: \(error)")
            }
        }
    }

    private mutating func append(
        _ secret: UnsafeRawBufferPointer,
        _ kind: SecretKind,
        _ sealing: any SecretSealing
    ) throws(StorageFailure) {
        bytes.append(integer: kind.rawValue)
        guard kind.isLongLived else {
            bytes.append(integer: UInt32(secret.count))
            return unsafe bytes.append(secret)
        }
        let sealed = try unsafe sealing.seal(secret, as: kind)
        bytes.append(integer: UInt32(sealed.count))
        unsafe sealed.withUnsafeBytes { unsafe bytes.append($0) }
    }
}

extension SnapshotEncoder {
    /// Writes a count.
    ///
    /// A count that the field cannot hold throws, because a server that sends too much must not crash the
    /// agent.
    private mutating func append(count: Int, of what: String) throws(StorageFailure) {
        guard let number = UInt16(exactly: count) else {
            throw StorageFailure(message: "the session has too many \(what) to store: \(count)")
        }
        bytes.append(integer: number)
    }

    private mutating func append(_ snapshot: SessionSnapshot) throws(StorageFailure) {
        append(snapshot.standing)
        append(snapshot.renewal)
        // 0: not sent. 1: sent, and the response is missing. Each start that finds it so adds one.
        bytes.append(integer: UInt8(clamping: snapshot.refreshTokenSent ? 1 + snapshot.interruptions : 0))
        append(snapshot.rotation)
        bytes.append(integer: snapshot.loggedInAt.secondsSince1970)
        append(optional: snapshot.refreshExpiresAt?.secondsSince1970)
        bytes.append(snapshot.tokenEndpoint)
        append(optional: snapshot.subject)
        try append(count: snapshot.keptMembers.count, of: "members")
        for (name, value) in snapshot.keptMembers.sorted(by: { $0.key < $1.key }) {
            bytes.append(name)
            bytes.append(value)
        }
        let tokens = Array(snapshot.tokens)
        try append(count: tokens.count, of: "tokens")
        for (variant, token) in tokens {
            try append(variant)
            try append(token)
        }
        append(optional: snapshot.account)
        // Without a key, a number that no secret has.
        bytes.append(integer: snapshot.proofKey.flatMap { numbers[$0] } ?? .max)
        let tail = RecordOptionalFieldWriter(snapshot, tokens: tokens.lazy.map(\.value), numbers: numbers)
            .bytes
        unsafe tail.withUnsafeBytes { unsafe bytes.append($0) }
    }

    private mutating func append(_ standing: SessionSnapshot.LoginState) {
        switch standing {
        case .loggedIn: bytes.append(integer: UInt8(0))
        case .ended(let reason, let quarantinedUntil):
            bytes.append(integer: UInt8(1))
            bytes.append(reason.formerWord)
            append(optional: quarantinedUntil?.secondsSince1970)
        }
    }

    private mutating func append(_ renewal: RenewalMethod) {
        switch renewal {
        case .refreshToken(let secret):
            bytes.append(integer: UInt8(0))
            append(secret)
        case .withoutLogin: bytes.append(integer: UInt8(1))
        // Not stored: it follows from the host's role, which may change (``SessionPolicy/isReader``).
        case .byKeepers: bytes.append(integer: UInt8(2))
        case .impossible: bytes.append(integer: UInt8(2))
        }
    }

    private mutating func append(_ rotation: RotationHabit) {
        switch rotation {
        case .unknown(let unchanged):
            bytes.append(integer: UInt8(0))
            bytes.append(integer: UInt8(clamping: unchanged))
        case .rotates: bytes.append(integer: UInt8(1))
        case .keeps: bytes.append(integer: UInt8(2))
        }
    }

    private mutating func append(_ variant: TokenVariant) throws(StorageFailure) {
        try append(variant.scopes)
        append(optional: variant.audience)
    }

    private mutating func append(_ token: AccessToken) throws(StorageFailure) {
        append(token.secret)
        bytes.append(integer: UInt8(token.idToken == nil ? 0 : 1))
        if let idToken = token.idToken { append(idToken.secret) }
        bytes.append(token.tokenType)
        try append(token.scope)
        bytes.append(integer: token.obtainedAt.nanoseconds)
        // A token without an expiry gets the farthest instant, and a mark in the tail.
        bytes.append(integer: (token.expiresAt ?? Instant(nanoseconds: .max)).nanoseconds)
        bytes.append(integer: token.jitter.bitPattern)
    }

    /// Writes the number of the secret; every secret of a snapshot has one.
    private mutating func append(_ secret: SecretID) {
        bytes.append(integer: numbers[secret] ?? .max)
    }

    private mutating func append(_ texts: [String]) throws(StorageFailure) {
        try append(count: texts.count, of: "words of a scope")
        for text in texts { bytes.append(text) }
    }

    private mutating func append(optional text: String?) {
        bytes.append(integer: UInt8(text == nil ? 0 : 1))
        if let text { bytes.append(text) }
    }

    private mutating func append(optional number: Int64?) {
        bytes.append(integer: UInt8(number == nil ? 0 : 1))
        if let number { bytes.append(integer: number) }
    }
}
