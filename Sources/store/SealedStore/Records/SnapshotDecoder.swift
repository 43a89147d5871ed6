// SPDX-License-Identifier: MIT

import CSodium
import SecretMemory
import Text
import TokenCore

/// A decoder of the output of ``SnapshotEncoder``, which puts the secrets into sealed memory.
struct SnapshotDecoder {
    private var reader: ByteReader
    private var secrets: [SecretID] = []
    private let clock: ClockReading
    private var written: ClockReading

    /// Decodes the plaintext of a record, without its padding.
    ///
    /// The secrets go into `memory`; nothing stays there if decoding fails. A token whose times contradict
    /// `clock` is returned as expired, so that it is refreshed. Without `sealing`, a record with a long-lived
    /// secret is rejected.
    static func decode(
        _ bytes: UnsafeRawBufferPointer,
        secrets memory: SealedMemory,
        at clock: ClockReading,
        under sealing: (any SecretSealing)?
    ) throws(RecordError) -> (SessionName, SessionSnapshot) {
        var decoder = unsafe SnapshotDecoder(reader: ByteReader(bytes), clock: clock, written: clock)
        do {
            return try decoder.decode(memory, sealing)
        } catch {
            for secret in decoder.secrets { memory.erase(secret) }
            throw RecordError(ofContent: error)
        }
    }

    private mutating func decode(
        _ memory: SealedMemory,
        _ sealing: (any SecretSealing)?
    ) throws -> (SessionName, SessionSnapshot) {
        guard try reader.integer(UInt8.self) == SnapshotEncoder.version else {
            throw RecordError.malformed("its content has an unknown version")
        }
        written = ClockReading(
            boot: try reader.id(),
            now: Instant(nanoseconds: try reader.integer()),
            wallTime: WallTime(secondsSince1970: try reader.integer())
        )
        guard let session = SessionName(try text()) else {
            throw RecordError.malformed("the session has no valid name")
        }
        for _ in 0..<(try reader.integer(UInt16.self)) {
            secrets.append(try secret(memory, sealing))
        }
        let snapshot = dated(try snapshot(memory))
        guard reader.remaining == 0 else { throw RecordError.malformed("it has trailing bytes") }
        return (session, snapshot)
    }

    private mutating func secret(
        _ memory: SealedMemory,
        _ sealing: (any SecretSealing)?
    ) throws -> SecretID {
        guard let kind = SecretKind(rawValue: try reader.integer()) else {
            throw RecordError.malformed("a secret has an unknown kind")
        }
        let bytes = unsafe try reader.take(Int(try reader.integer(UInt32.self)))
        guard kind.isLongLived else { return try unsafe memory.seal(bytes, as: kind) }
        guard let sealing else { throw RecordError.malformed("it has a secret that it must not have") }
        let count = bytes.count - AEAD.overhead
        guard count >= 0 else { throw RecordError.truncated }
        return try unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { plaintext in
            defer { if let base = plaintext.baseAddress { unsafe sodium_memzero(base, count) } }
            guard unsafe sealing.open(bytes, as: kind, into: plaintext) else {
                throw RecordError.malformed("cannot decrypt a secret")
            }
            return try unsafe memory.seal(UnsafeRawBufferPointer(plaintext), as: kind)
        }
    }
}

extension SnapshotDecoder {
    private mutating func snapshot(_ memory: SealedMemory) throws(RecordError) -> SessionSnapshot {
        var standing = try standing()
        let renewal = try renewal()
        let uses = Int(try reader.integer(UInt8.self))
        let rotation = try rotation()
        let loggedInAt = WallTime(secondsSince1970: try reader.integer())
        let refreshExpiresAt = try optionalTime()
        let tokenEndpoint = try text()
        let subject = try optionalText()
        var kept: [String: String] = [:]
        for _ in 0..<(try reader.integer(UInt16.self)) {
            let name = try text()
            kept[name] = try text()
        }
        var (tokens, order) = try accessTokens()
        let account = reader.remaining > 0 ? try optionalText() : nil
        let proofKey = reader.remaining > 0 ? try optionalSecret() : nil
        let tail = try tail()
        if case .ended(_, let until) = standing, let reason = tail.endReason {
            standing = .ended(reason, quarantinedUntil: until)
        }
        tail.mark(&tokens, in: order)
        for variant in tail.undated(order) {
            if let token = tokens[variant] { tokens[variant]?.idToken = dated(token.idToken, memory) }
        }
        return SessionSnapshot(
            standing: standing,
            ending: standing == .loggedIn ? nil : tail.ending,
            renewal: renewal,
            formerRefreshToken: try tail.formerRefreshToken.map { number throws(RecordError) in
                try secret(numbered: number)
            },
            refreshTokenSent: uses > 0,
            tokens: tokens,
            loggedInAt: loggedInAt,
            loginBegan: tail.loginBegan,
            refreshExpiresAt: refreshExpiresAt,
            end: tail.end,
            noticedEnd: tail.noticedEnd,
            refused: tail.refused,
            coexistence: tail.coexistence,
            rotation: rotation,
            tokenEndpoint: tokenEndpoint,
            subject: subject,
            account: account,
            keptMembers: kept,
            proofKey: proofKey,
            server: tail.server,
            madeOf: tail.madeOf,
            interruptions: max(0, uses - 1),
            fleet: tail.fleet
        )
    }

    /// Returns `snapshot` with marks that say how far its times can be trusted after a restart or a clock
    /// step.
    private func dated(_ snapshot: SessionSnapshot) -> SessionSnapshot {
        var snapshot = snapshot
        snapshot.isDatedByWallClock = written.boot != clock.boot && !clock.isOfManyHosts
        for (variant, token) in snapshot.tokens where isOlderThanClockStep && !token.isRefused {
            snapshot.tokens[variant]?.standing = .possiblyExpired
        }
        return snapshot
    }

    /// Whether the wall clock has stepped forward since this host wrote the record.
    private var isOlderThanClockStep: Bool {
        guard written.boot == clock.boot, let step = clock.offset.step(since: written.offset) else {
            return false
        }
        return step > .zero
    }

    private mutating func standing() throws(RecordError) -> SessionSnapshot.LoginState {
        guard try flag() else { return .loggedIn }
        guard let reason = EndReason(rawValue: try text()) else {
            throw .malformed("the reason for the end of the login is unknown")
        }
        return .ended(reason, quarantinedUntil: try optionalTime())
    }

    private mutating func renewal() throws(RecordError) -> RenewalMethod {
        switch try reader.integer(UInt8.self) {
        case 0: .refreshToken(try numberedSecret())
        case 1: .withoutLogin
        case 2: .impossible
        default: throw .malformed("its kind of refresh is unknown")
        }
    }

    private mutating func rotation() throws(RecordError) -> RotationHabit {
        switch try reader.integer(UInt8.self) {
        case 0: .unknown(unchanged: Int(try reader.integer(UInt8.self)))
        case 1: .rotates
        case 2: .keeps
        default: throw .malformed("its kind of refresh token rotation is unknown")
        }
    }

    /// Reads the access tokens, with their variants in the order in which they are written.
    private mutating func accessTokens() throws(RecordError) -> ([TokenVariant: AccessToken], [TokenVariant])
    {
        var tokens: [TokenVariant: AccessToken] = [:]
        var order: [TokenVariant] = []
        for _ in 0..<(try reader.integer(UInt16.self)) {
            let variant = TokenVariant(scopes: try texts(), audience: try optionalText())
            order.append(variant)
            tokens[variant] = try accessToken()
        }
        return (tokens, order)
    }

    private mutating func accessToken() throws(RecordError) -> AccessToken {
        let secret = try numberedSecret()
        let idToken = try flag() ? try numberedSecret() : nil
        let type = try text()
        let scope = try texts()
        let obtainedAt = Instant(nanoseconds: try reader.integer())
        let expiresAt = Instant(nanoseconds: try reader.integer())
        let jitter = Double(bitPattern: try reader.integer())
        let times = times(obtainedAt, expiresAt)
        return AccessToken(
            secret: secret,
            idToken: idToken.map {
                IDToken(secret: $0, life: ValidityPeriod(obtainedAt: times.obtainedAt, expiresAt: nil))
            },
            tokenType: type,
            scope: scope,
            obtainedAt: times.obtainedAt,
            expiresAt: times.expiresAt,
            jitter: (0..<1).contains(jitter) ? jitter : 0
        )
    }

    /// Returns the stored times, translated to today's clock.
    ///
    /// If the clocks contradict each other, the token is returned as one that has just expired.
    private func times(
        _ obtainedAt: Instant,
        _ expiresAt: Instant
    ) -> (obtainedAt: Instant, expiresAt: Instant) {
        guard let obtained = clock.translate(obtainedAt, from: written),
            let expires = clock.translate(expiresAt, from: written),
            obtained <= clock.now, obtained <= expires
        else { return (clock.now, clock.now) }
        return (obtained, expires)
    }

    /// Returns an ID token from a record of an older release with the expiry in its claims.
    ///
    /// Such records do not contain the lifetime of ID tokens: the token came with the access token or before.
    private func dated(_ idToken: IDToken?, _ memory: SealedMemory) -> IDToken? {
        guard var idToken else { return nil }
        let claims = try? unsafe memory.open(idToken.secret) { bytes in
            unsafe JWTParts(String(decoding: bytes, as: UTF8.self))?.claims
        }
        guard let claims = claims ?? nil, let expiry = claims.seconds("exp") else { return idToken }
        let left = WallTime(secondsSince1970: expiry) - written.wallTime
        let obtainedAt = idToken.life.obtainedAt
        let end = clock.translate(written.now + left, from: written) ?? obtainedAt
        idToken.life.expiresAt = claims.wholeLife.map { min(end, obtainedAt + .seconds($0)) } ?? end
        return idToken
    }

    private mutating func tail() throws(RecordError) -> RecordOptionalFields {
        let (clock, written) = (clock, written)
        return try RecordOptionalFields(&reader) { clock.translate($0, from: written) }
    }

    private mutating func optionalSecret() throws(RecordError) -> SecretID? {
        let number = try reader.integer(UInt16.self)
        return number == .max ? nil : try secret(numbered: number)
    }

    private mutating func numberedSecret() throws(RecordError) -> SecretID {
        try secret(numbered: try reader.integer(UInt16.self))
    }

    private func secret(numbered number: UInt16) throws(RecordError) -> SecretID {
        guard secrets.indices.contains(Int(number)) else {
            throw .malformed("it refers to a secret that it does not have")
        }
        return secrets[Int(number)]
    }

    private mutating func flag() throws(RecordError) -> Bool {
        switch try reader.integer(UInt8.self) {
        case 0: false
        case 1: true
        default: throw .malformed("a flag is neither 0 nor 1")
        }
    }

    private mutating func text() throws(RecordError) -> String {
        try reader.text(Int(try reader.integer(UInt32.self)))
    }

    private mutating func optionalText() throws(RecordError) -> String? {
        try flag() ? try text() : nil
    }

    private mutating func optionalTime() throws(RecordError) -> WallTime? {
        try flag() ? WallTime(secondsSince1970: try reader.integer()) : nil
    }

    private mutating func texts() throws(RecordError) -> [String] {
        var texts: [String] = []
        for _ in 0..<(try reader.integer(UInt16.self)) { texts.append(try text()) }
        return texts
    }
}
