// SPDX-License-Identifier: MIT

import SecretMemory
import Testing
import Text
import TokenCore

@testable import SealedStore

/// When an ID token ends is part of a record; an older record leaves it to the token's claims.
struct IDTokenRecordTests {
    private static let wallTime: Int64 = 1_800_000_000
    private static let written = ClockReading(
        boot: RandomID(high: 1, low: 2),
        now: .seconds(10_000),
        wallTime: WallTime(secondsSince1970: wallTime)
    )
    /// A tag, a length and two instants.
    private static let fieldCount = 1 + 4 + 16

    private let memory: SealedMemory
    private let sealing: RecordSecretSealing

    init() throws {
        memory = try SealedMemory()
        sealing = RecordSecretSealing(record: Vector.record, master: try Vector.masterKey())
    }

    /// The ID token of a record that was written at second 10,000, 1,000 s after its access token of an hour came, and is
    /// read at `clock`.
    private func restored(
        _ text: String,
        _ life: ValidityPeriod,
        at clock: ClockReading = written,
        isOld: Bool
    ) throws -> IDToken? {
        let open = OpenMemory(memory: memory)
        let token = AccessToken(
            secret: try open.secret("AT", .accessToken),
            idToken: IDToken(secret: try open.secret(text, .idToken), life: life),
            tokenType: "Bearer",
            scope: [],
            obtainedAt: .seconds(9_000),
            expiresAt: .seconds(12_600),
            jitter: 0
        )
        let snapshot = SessionSnapshot(
            standing: .loggedIn,
            renewal: .impossible,
            tokens: [.primary: token],
            loggedInAt: Self.written.wallTime,
            tokenEndpoint: "https://id.example.com/token"
        )
        let bytes = try SnapshotEncoder.encode(
            .work,
            snapshot,
            secrets: memory,
            at: Self.written,
            under: sealing
        )
        // The field is the last one here, and an older release did not write it.
        let plaintext = bytes.read { Array($0.dropLast(isOld ? Self.fieldCount : 0)) }
        let (_, read) = try plaintext.withUnsafeBytes { plaintext in
            try SnapshotDecoder.decode(plaintext, secrets: memory, at: clock, under: sealing)
        }
        return read.tokens[.primary]?.idToken
    }

    private static func token(_ claims: String) -> String {
        [#"{"alg":"none"}"#, claims].map { Base64.urlEncoded($0.utf8) }.joined(separator: ".") + "."
    }

    @Test(arguments: [Instant?.some(.seconds(9_300)), nil])
    func `the life of an ID token survives, whatever its claims say`(end: Instant?) throws {
        let life = ValidityPeriod(obtainedAt: .seconds(8_000), expiresAt: end)
        let token = Self.token(#"{"exp":1800000600,"iat":1800000000}"#)
        #expect(try restored(token, life, isOld: false)?.life == life)
    }

    @Test func `after another start of the machine an ID token ends when it would have ended`() throws {
        let life = ValidityPeriod(obtainedAt: .seconds(9_000), expiresAt: .seconds(10_600))
        let clock = ClockReading(
            boot: RandomID(high: 3, low: 4),
            now: .seconds(50),
            wallTime: WallTime(secondsSince1970: Self.wallTime + 100)
        )
        let read = try restored("ID", life, at: clock, isOld: false)
        // A second is taken off, so that nothing looks younger than it is.
        #expect(read?.life.expiresAt == .seconds(50 + 500 - 1))
    }

    @Test func `clocks that contradict each other end an ID token`() throws {
        let life = ValidityPeriod(obtainedAt: .seconds(9_000), expiresAt: .seconds(10_600))
        let clock = ClockReading(
            boot: RandomID(high: 3, low: 4),
            now: .seconds(50),
            wallTime: WallTime(secondsSince1970: Self.wallTime - 100)
        )
        let token = Self.token(#"{"exp":1800000600,"iat":1800000000}"#)
        for isOld in [false, true] {
            #expect(try restored(token, life, at: clock, isOld: isOld)?.life.expiresAt == .seconds(50))
        }
    }

    /// Claims of an ID token in an older record, and when it ends.
    @Test(arguments: [
        (#"{"exp":1800000600,"iat":1799999000}"#, Instant?.some(.seconds(10_600))),
        (#"{"exp":1800000600}"#, .seconds(10_600)), (#"{"exp":1799999900}"#, .seconds(9_900)),
        // Our clock was a year slow when the record was written: it did not come after the access token.
        (#"{"exp":1831536600,"iat":1831536000}"#, .seconds(9_600)),
        (#"{"exp":1800000600.9}"#, .seconds(10_600)), (#"{"exp":1e300}"#, nil), (#"{"exp":"soon"}"#, nil),
        (#"{}"#, nil),
    ])
    func `the ID token of an older record ends as its claims say`(claims: String, end: Instant?) throws {
        let life = ValidityPeriod(obtainedAt: .seconds(1), expiresAt: .seconds(2))
        let read = try restored(Self.token(claims), life, isOld: true)
        #expect(read?.life == ValidityPeriod(obtainedAt: .seconds(9_000), expiresAt: end))
    }

    @Test func `an ID token of an older record that is no JWT names no end`() throws {
        let life = ValidityPeriod(obtainedAt: .seconds(1), expiresAt: .seconds(2))
        #expect(try restored("ID", life, isOld: true)?.life.expiresAt == nil)
    }
}

/// Sealed memory that a test fills.
private struct OpenMemory {
    let memory: SealedMemory

    func secret(_ text: String, _ kind: SecretKind) throws -> SecretID {
        try Array(text.utf8).withUnsafeBytes { try memory.seal($0, as: kind) }
    }
}
