// SPDX-License-Identifier: MIT

import SecretMemory
import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// A fleet with its keys, and hosts that have them.
struct FleetFixture {
    let keepers: FleetKeys
    let readers: FleetKeys

    init(_ keepers: FleetKeys) throws {
        self.keepers = keepers
        readers = try keepers.forReaders()
    }

    init() throws {
        try self.init(try FleetKeys.random(label: "production"))
    }

    func keeper(_ clock: EtcdClockReading = .fleet) throws -> FleetHost { try FleetHost(keepers, clock) }
    func reader(_ clock: EtcdClockReading = .fleet) throws -> FleetHost { try FleetHost(readers, clock) }
}

extension FleetKeys {
    /// Returns the keys of a reader of the same fleet.
    func forReaders() throws -> FleetKeys {
        try FleetKeyText.keys(in: try FleetKeyText.text(of: self, for: .reader), for: .reader)
    }
}

/// One host: its sealed memory and its clocks.
struct FleetHost {
    let memory: SealedMemory
    let records: FleetRecords
    let clock: EtcdClockReading

    init(_ keys: FleetKeys, _ clock: EtcdClockReading) throws {
        memory = try SealedMemory()
        records = FleetRecords(keys: keys, memory: memory)
        self.clock = clock
    }

    func secret(_ text: String, _ kind: SecretKind) throws -> SecretID {
        try Array(text.utf8).withUnsafeBytes { try memory.seal($0, as: kind) }
    }

    func text(_ secret: SecretID) throws -> String {
        try memory.open(secret) { String(decoding: $0, as: UTF8.self) }
    }

    /// The kinds of the secrets in the host's memory.
    var kinds: [SecretKind] { (1...300).compactMap { memory.kind(of: SecretID(rawValue: $0)) } }

    /// A login with these tokens.
    func content(refreshToken: String = "RT-1", accessToken: String = "AT-1") throws -> FleetSessionContent {
        let token = AccessToken(
            secret: try secret(accessToken, .accessToken),
            idToken: IDToken(
                secret: try secret("ID-1", .idToken),
                life: ValidityPeriod(
                    obtainedAt: clock.now - .seconds(900),
                    expiresAt: clock.now + .seconds(60)
                )
            ),
            tokenType: "Bearer",
            scope: ["openid", "offline_access"],
            obtainedAt: clock.now - .seconds(600),
            expiresAt: clock.now + .seconds(3_000),
            jitter: 0.25
        )
        let snapshot = SessionSnapshot(
            standing: .loggedIn,
            renewal: .refreshToken(try secret(refreshToken, .refreshToken)),
            tokens: [.primary: token],
            loggedInAt: clock.wallTime + .seconds(-1_000),
            tokenEndpoint: "https://id.example.com/token"
        )
        return FleetSessionContent(snapshot: snapshot, binding: .example)
    }

    func refreshToken(of content: FleetSessionContent?) throws -> String? {
        guard case .refreshToken(let secret)? = content?.snapshot.renewal else { return nil }
        return try text(secret)
    }

    /// The values of a record of the session `work`.
    func values(_ content: FleetSessionContent?, _ header: FleetHeader = .example) throws -> FleetRecordValues
    {
        try records.values(header, content, of: .work, at: clock)
    }

    func open(_ values: FleetRecordValues, since: UInt32 = 0) throws -> OpenedFleetRecord {
        try records.open(values, of: .work, since: since, at: clock)
    }

    func key(_ kind: FleetEtcdKey.Kind, of session: SessionName = .work) -> FleetEtcdKey {
        FleetEtcdKey(kind, of: records.names.name(of: session))
    }

    /// `content` with names for its secrets that say what they are, so that two hosts' can be compared.
    func comparable(_ content: FleetSessionContent) throws -> FleetSessionContent {
        var content = content
        if case .refreshToken(let secret) = content.snapshot.renewal {
            content.snapshot.renewal = .refreshToken(try comparable(secret))
        }
        content.snapshot.proofKey = try content.snapshot.proofKey.map(comparable)
        for (variant, token) in content.snapshot.tokens {
            content.snapshot.tokens[variant]?.secret = try comparable(token.secret)
            if let idToken = token.idToken?.secret {
                content.snapshot.tokens[variant]?.idToken?.secret = try comparable(idToken)
            }
        }
        return content
    }

    private func comparable(_ secret: SecretID) throws -> SecretID {
        let kind = UInt64(memory.kind(of: secret)?.rawValue ?? 0)
        let hash = try memory.open(secret) { bytes in
            bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        }
        return SecretID(rawValue: hash ^ kind)
    }
}

extension EtcdClockReading {
    /// Clocks that agree.
    static let fleet = EtcdClockReading(
        now: .seconds(10_000),
        wallTime: WallTime(secondsSince1970: 1_800_000_000),
        etcdTime: WallTime(secondsSince1970: 1_800_000_000)
    )
}

extension FleetLoginSettings {
    static let example = FleetLoginSettings(
        kind: "oidc",
        issuer: "https://id.example.com",
        client: "tokenagent",
        endpoint: "https://id.example.com/token"
    )
}

extension Lineage {
    static let example = Lineage(number: 3, id: 0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF)
}

extension AttemptID {
    static let example = AttemptID(host: 0xA1, random: 0xB2)
    static let other = AttemptID(host: 0xC3, random: 0xD4)
}

extension FleetHeader {
    static let example = FleetHeader(
        lineage: .example,
        generation: 7,
        attempt: .example,
        status: .live,
        proven: 6,
        tokenMark: 0x1234_5678_9ABC_DEF0,
        cluster: 0xCDF8_1818_E32A_0000
    )

    func with(_ status: LoginStatus) -> FleetHeader {
        var header = self
        header.status = status
        return header
    }
}

extension FleetIntent {
    static let example = FleetIntent(
        lineage: .example,
        generation: 7,
        attempt: .other,
        at: FleetTime(seconds: 1_800_000_000),
        first: FleetTime(seconds: 1_799_999_970),
        before: [.example, .lost]
    )
}

extension LateResponse {
    static let example = LateResponse(
        lineage: .example,
        parent: 7,
        attempt: .other,
        tokenMark: 99,
        cluster: 5
    )
}

extension SessionFleetState {
    /// The state of a host that has read a record.
    static let example: SessionFleetState = {
        var memory = FleetPersistentState()
        memory.record = .example
        memory.place = FleetRevision(cluster: 0xCDF8_1818_E32A_0000, revision: 4_711)
        return SessionFleetState(memory: memory, attempt: .example, epoch: 2)
    }()

    /// The state of ``example`` after a response that is not yet in etcd.
    static let exampleWithAnswer: SessionFleetState = {
        var keeping = example
        keeping.memory.answer = StoredRefreshResult(
            parent: .example,
            intent: .example,
            tokenMark: 99,
            cluster: 5
        )
        keeping.attempt = .other
        keeping.others = [.example: Array("sealed tokens of the parent".utf8)]
        return keeping
    }()
}
