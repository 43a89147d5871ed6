// SPDX-License-Identifier: MIT

import TokenCore

/// A field that releases after the first one have added to the end of records: a tag, a 4-byte length, the
/// content.
///
/// A field is written only if it has content, and unknown tags are skipped, so that earlier and later
/// releases can read the record. Times are nanoseconds of the record's boot-time clock.
enum RecordField: UInt8 {
    /// The time at which the session's login began.
    case loginBegan = 1
    /// The ``LoginExpiry``: at, since, lifetime in nanoseconds, source, mobility.
    case end = 2
    /// The end of the login about which the user has been warned.
    case noticedEnd = 3
    /// One byte of ``AccessTokenStateFlags``s for each access token, in the order of the access tokens in the record.
    case tokenMarks = 4
    /// The fingerprints of rejected tokens, one after the other.
    case refused = 5
    /// The ``TokenCoexistence``.
    case coexistence = 6
    /// The ``DiscoveredServer``: 1 if it is public, else 0; then issuer, resource and client.
    ///
    /// Each text follows its 4-byte length, which is the highest value if there is no text.
    case server = 7
    /// The sources of the tokens, as text.
    case madeOf = 8
    /// The ``SessionFleetState``.
    case fleet = 9
    /// The four texts of ``FleetLoginSettings``, each after its 4-byte length.
    case fleetBinding = 10
    /// The times at which the ID token of each access token was obtained and expires, in the order of the
    /// access tokens.
    ///
    /// The farthest instant means that there is no ID token, or no expiry.
    case idTokens = 11
    /// The end of the login: time, reason and message.
    ///
    /// The time is in seconds since 1970, or the highest value if it is unknown. The reason follows its
    /// 1-byte length and replaces the one in the record. The rest is the message.
    case ending = 12
    /// The number, in the record's list of secrets, of the previous refresh token.
    case formerRefreshToken = 20
    /// The server's token type for each access token, in the order of the access tokens in the record.
    ///
    /// Each follows its 4-byte length, which is the highest value if there is none.
    case serverTokenTypes = 21
}

extension EndReason {
    /// The word for the reason that every earlier release knows, too.
    ///
    /// The word of this release is in ``RecordField/ending``.
    var formerWord: String {
        switch self {
        case .clientUnknown: EndReason.grantDead.rawValue
        default: rawValue
        }
    }
}

/// The states of an access token that records store separately.
struct AccessTokenStateFlags: OptionSet {
    let rawValue: UInt8

    static let refused = AccessTokenStateFlags(rawValue: 1)
    static let repeated = AccessTokenStateFlags(rawValue: 2)
    static let doubtful = AccessTokenStateFlags(rawValue: 4)
    static let endless = AccessTokenStateFlags(rawValue: 8)
    /// A mark written together with ``doubtful``, because older releases know only that one.
    static let possiblyExpired = AccessTokenStateFlags(rawValue: 16)

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    init(_ token: AccessToken) {
        self = token.expiresAt == nil ? .endless : []
        switch token.standing {
        case .good: break
        case .doubtful, .onTrial: insert(.doubtful)
        case .possiblyExpired: formUnion([.doubtful, .possiblyExpired])
        case .refused(let isRepeat): formUnion(isRepeat ? [.refused, .repeated] : .refused)
        }
    }

    func apply(to token: inout AccessToken) {
        if contains(.endless) { token.expiresAt = nil }
        if contains(.doubtful) { token.standing = contains(.possiblyExpired) ? .possiblyExpired : .doubtful }
        if contains(.refused) { token.standing = .refused(isRepeat: contains(.repeated)) }
    }
}

/// A writer of the tail: the fields of ``RecordField`` at the end of a record.
struct RecordOptionalFieldWriter {
    private(set) var bytes: [UInt8] = []

    /// Encodes the tail of `snapshot`.
    ///
    /// - Parameters:
    ///   - snapshot: the snapshot.
    ///   - tokens: its access tokens in their order.
    ///   - numbers: the numbers of its secrets.
    init(
        _ snapshot: SessionSnapshot,
        tokens: some Sequence<AccessToken>,
        numbers: [SecretID: UInt16] = [:]
    ) {
        if let began = snapshot.loginBegan { add(.loginBegan) { $0.append(integer: began.nanoseconds) } }
        if let end = snapshot.end {
            add(.end) { bytes in
                bytes.append(integer: end.at.nanoseconds)
                bytes.append(integer: end.since.nanoseconds)
                bytes.append(integer: end.lifetime.saturatedNanoseconds)
                bytes.append(end.source.rawValue)
                bytes.append(end.mobility.rawValue)
            }
        }
        if let noticed = snapshot.noticedEnd { add(.noticedEnd) { $0.append(integer: noticed.nanoseconds) } }
        if let former = snapshot.formerRefreshToken.flatMap({ numbers[$0] }) {
            add(.formerRefreshToken) { $0.append(integer: former) }
        }
        add(tokens)
        if !snapshot.refused.fingerprints.isEmpty {
            add(.refused) { bytes in
                for fingerprint in snapshot.refused.fingerprints { bytes += fingerprint.bytes }
            }
        }
        if let server = snapshot.server {
            add(.server) { bytes in
                bytes.append(server.isPublic ? 1 : 0)
                for text in [server.issuer, server.resource, server.client] {
                    bytes.append(optional: text)
                }
            }
        }
        if let made = snapshot.madeOf { add(.madeOf) { $0 += made.utf8 } }
        if let fleet = snapshot.fleet { add(.fleet) { $0.append(fleet) } }
        if let binding = snapshot.fleet?.binding {
            add(.fleetBinding) { bytes in
                for text in binding.texts {
                    bytes.append(integer: UInt32(clamping: text.utf8.count))
                    bytes += text.utf8
                }
            }
        }
        if case .ended(let reason, _) = snapshot.standing,
            snapshot.ending != nil || reason.formerWord != reason.rawValue
        {
            add(.ending) { bytes in
                bytes.append(integer: snapshot.ending?.at.secondsSince1970 ?? .max)
                bytes.append(UInt8(clamping: reason.rawValue.utf8.count))
                bytes += reason.rawValue.utf8
                bytes += (snapshot.ending?.message ?? "").utf8
            }
        }
        if snapshot.coexistence != .unknown { add(.coexistence) { $0.append(snapshot.coexistence.rawValue) } }
    }

    private mutating func add(_ tokens: some Sequence<AccessToken>) {
        let types = tokens.map(\.serverTokenType)
        if types.contains(where: { $0 != nil }) {
            add(.serverTokenTypes) { bytes in for type in types { bytes.append(optional: type) } }
        }
        let marks = tokens.map { AccessTokenStateFlags($0).rawValue }
        if marks.contains(where: { $0 != 0 }) { add(.tokenMarks) { $0 += marks } }
        let lives = tokens.map { $0.idToken?.life }
        if lives.contains(where: { $0 != nil }) {
            add(.idTokens) { bytes in
                for life in lives {
                    bytes.append(integer: life?.obtainedAt.nanoseconds ?? .max)
                    bytes.append(integer: life?.expiresAt?.nanoseconds ?? .max)
                }
            }
        }
    }

    private mutating func add(_ field: RecordField, _ write: (inout [UInt8]) -> Void) {
        var content: [UInt8] = []
        write(&content)
        bytes.append(field.rawValue)
        bytes.append(integer: UInt32(clamping: content.count))
        bytes += content
    }
}

extension [UInt8] {
    /// Appends a text after its length, which is the highest value if there is no text.
    fileprivate mutating func append(optional text: String?) {
        append(integer: text.map { UInt32(clamping: $0.utf8.count) } ?? .max)
        self += (text ?? "").utf8
    }
}

/// The parsed fields at the end of a record (``RecordField``).
///
/// A missing field has the same meaning as in records of the releases before that field.
struct RecordOptionalFields {
    var loginBegan: Instant?
    var end: LoginExpiry?
    var noticedEnd: Instant?
    var tokenMarks: [AccessTokenStateFlags] = []
    /// The lifetimes of the ID tokens, one for each access token, or `nil` if unknown or if the clocks
    /// contradict each other.
    private var idTokenLives: [ValidityPeriod?] = []
    private var serverTokenTypes: [String?] = []
    /// The number, in the record's list of secrets, of the previous refresh token, or `nil` if there is none.
    var formerRefreshToken: UInt16?
    var refused = RejectedTokens()
    var coexistence = TokenCoexistence.unknown
    var server: DiscoveredServer?
    var madeOf: String?
    var fleet: SessionFleetState?
    var endReason: EndReason?
    var ending: LoginEndDetails?
    private var fleetBinding: FleetLoginSettings?

    init() {}

    /// Reads all fields up to the end of the record.
    ///
    /// - Parameters:
    ///   - reader: at the first field.
    ///   - translate: converts a stored instant to today's clock, or returns `nil` if the clocks contradict
    ///     each other.
    /// - Throws: ``RecordError`` for an invalid field.
    init(_ reader: inout ByteReader, translate: (Instant) -> Instant?) throws(RecordError) {
        while reader.remaining > 0 {
            let tag = try reader.integer(UInt8.self)
            let content = unsafe try reader.take(Int(try reader.integer(UInt32.self)))
            guard let field = RecordField(rawValue: tag) else { continue }
            var inside = unsafe ByteReader(content)
            try read(field, &inside, translate)
            guard inside.remaining == 0 else { throw .malformed("a field is too long") }
        }
        fleet?.binding = fleetBinding
    }

    /// Sets the properties of `tokens` that records store separately, such as their ``AccessTokenStateFlags``s.
    ///
    /// The properties are stored in the order of `variants`.
    func mark(_ tokens: inout [TokenVariant: AccessToken], in variants: [TokenVariant]) {
        for (variant, mark) in zip(variants, tokenMarks) {
            guard var token = tokens[variant] else { continue }
            mark.apply(to: &token)
            tokens[variant] = token
        }
        for (variant, type) in zip(variants, serverTokenTypes) { tokens[variant]?.serverTokenType = type }
        for (variant, life) in zip(variants, idTokenLives) {
            if let life { tokens[variant]?.idToken?.life = life }
        }
    }

    /// Returns the variants whose ID token has no known lifetime.
    ///
    /// `variants` must be in the order in which the tokens were read.
    func undated(_ variants: [TokenVariant]) -> [TokenVariant] {
        variants.enumerated().compactMap { number, variant in
            idTokenLives.indices.contains(number) && idTokenLives[number] != nil ? nil : variant
        }
    }

    private mutating func read(
        _ field: RecordField,
        _ reader: inout ByteReader,
        _ translate: (Instant) -> Instant?
    ) throws(RecordError) {
        switch field {
        case .loginBegan: loginBegan = translate(Instant(nanoseconds: try reader.integer()))
        case .end: end = try RecordOptionalFields.end(&reader, translate)
        case .noticedEnd: noticedEnd = translate(Instant(nanoseconds: try reader.integer()))
        case .tokenMarks:
            tokenMarks = try reader.bytes(reader.remaining).map { AccessTokenStateFlags(rawValue: $0) }
        case .idTokens: idTokenLives = try RecordOptionalFields.idTokenLives(&reader, translate)
        case .formerRefreshToken: formerRefreshToken = try reader.integer()
        case .serverTokenTypes:
            while reader.remaining > 0 { serverTokenTypes.append(try RecordOptionalFields.text(&reader)) }
        case .refused:
            var fingerprints: [TokenFingerprint] = []
            while reader.remaining > 0 {
                guard let next = TokenFingerprint(try reader.bytes(TokenFingerprint.byteCount)) else { break }
                fingerprints.append(next)
            }
            refused = RejectedTokens(fingerprints)
        case .coexistence:
            guard let known = TokenCoexistence(rawValue: try reader.integer()) else {
                throw .malformed("it has an unknown token state")
            }
            coexistence = known
        case .server: server = try RecordOptionalFields.server(&reader)
        case .madeOf: madeOf = try reader.text(reader.remaining)
        case .fleet: fleet = try reader.fleetKeeping()
        case .fleetBinding: fleetBinding = try RecordOptionalFields.binding(&reader)
        case .ending: try readEnding(&reader)
        }
    }

    private mutating func readEnding(_ reader: inout ByteReader) throws(RecordError) {
        let seconds: Int64 = try reader.integer()
        // A reason known only to a later release becomes nil; the record also contains one known to this
        // release.
        endReason = EndReason(rawValue: try reader.text(Int(try reader.integer(UInt8.self))))
        let message = try reader.text(reader.remaining)
        guard seconds != .max else { return }
        ending = LoginEndDetails(message: message, at: WallTime(secondsSince1970: seconds))
    }

    private static func idTokenLives(
        _ reader: inout ByteReader,
        _ translate: (Instant) -> Instant?
    ) throws(RecordError) -> [ValidityPeriod?] {
        var lives: [ValidityPeriod?] = []
        while reader.remaining > 0 {
            let obtainedAt = Instant(nanoseconds: try reader.integer())
            let expiresAt = Instant(nanoseconds: try reader.integer())
            let isEndless = expiresAt.nanoseconds == .max
            let end = isEndless ? nil : translate(expiresAt)
            guard obtainedAt.nanoseconds != .max, let obtained = translate(obtainedAt),
                isEndless || end != nil
            else {
                lives.append(nil)
                continue
            }
            lives.append(ValidityPeriod(obtainedAt: obtained, expiresAt: end))
        }
        return lives
    }

    private static func server(_ reader: inout ByteReader) throws(RecordError) -> DiscoveredServer {
        let isPublic = try reader.integer(UInt8.self) != 0
        let texts = [try text(&reader), try text(&reader), try text(&reader)]
        guard let issuer = texts[0] else { throw .malformed("it has no server") }
        return DiscoveredServer(issuer: issuer, resource: texts[1], isPublic: isPublic, client: texts[2])
    }

    private static func binding(_ reader: inout ByteReader) throws(RecordError) -> FleetLoginSettings {
        var texts: [String] = []
        for _ in 0..<4 { texts.append(try reader.text(Int(try reader.integer(UInt32.self)))) }
        return FleetLoginSettings(kind: texts[0], issuer: texts[1], client: texts[2], endpoint: texts[3])
    }

    private static func text(_ reader: inout ByteReader) throws(RecordError) -> String? {
        let count = try reader.integer(UInt32.self)
        return count == .max ? nil : try reader.text(Int(count))
    }

    private static func end(
        _ reader: inout ByteReader,
        _ translate: (Instant) -> Instant?
    ) throws(RecordError) -> LoginExpiry? {
        let at = translate(Instant(nanoseconds: try reader.integer()))
        let since = translate(Instant(nanoseconds: try reader.integer()))
        let lifetime = Duration.nanoseconds(try reader.integer(Int64.self))
        let source = LoginExpiry.Source(rawValue: try reader.integer())
        let mobility = LoginExpiry.Mobility(rawValue: try reader.integer())
        guard let source, let mobility else { throw .malformed("it has an unknown end state") }
        guard let at, let since else { return nil }
        return LoginExpiry(at: at, since: since, lifetime: lifetime, source: source, mobility: mobility)
    }
}
