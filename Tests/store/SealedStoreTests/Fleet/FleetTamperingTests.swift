// SPDX-License-Identifier: MIT

import SecretMemory
import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// Attackers who can write to etcd, and who can at most restore previous values.
struct FleetTamperingTests {
    let fleet: FleetFixture
    let writer: FleetHost
    let values: FleetRecordValues
    let late: [UInt8]
    let kept: [UInt8]
    let intent: [UInt8]
    let want: [UInt8]

    init() throws {
        fleet = try FleetFixture()
        writer = try fleet.keeper()
        let content = try writer.content()
        values = try writer.values(content)
        late = try writer.records.value(.example, content, of: .work, at: .fleet)
        kept = try writer.records.kept(content, of: .example, .work, at: .fleet)
        intent = try writer.records.value(FleetIntent.example, of: .work)
        want = try writer.records.value(FleetRefreshRequest(lineage: .example, generation: 7), of: .work)
    }

    /// A kind of value, and the function that reads one under that kind of key.
    struct Case: CustomTestStringConvertible {
        var testDescription: String
        var bytes: @Sendable (FleetTamperingTests) -> [UInt8]
        var read: @Sendable (FleetHost, [UInt8], SessionName) throws -> Void

        init(
            _ testDescription: String,
            _ bytes: @escaping @Sendable (FleetTamperingTests) -> [UInt8],
            _ read: @escaping @Sendable (FleetHost, [UInt8], SessionName) throws -> Void
        ) {
            self.testDescription = testDescription
            self.bytes = bytes
            self.read = read
        }
    }

    var record: [UInt8] { values.record ?? [] }

    static let cases: [Case] = [
        Case("rt", \.record) { host, bytes, session in
            let values = FleetRecordValues(record: bytes, access: nil)
            _ = try host.records.open(values, of: session, at: .fleet)
        },
        Case("late", \.late) { host, bytes, session in
            let key = host.key(.late(.example, parent: 7, .other), of: session)
            _ = try host.records.open(late: bytes, under: key, of: session, at: .fleet)
        },
        Case("kept", \.kept) { host, bytes, session in
            _ = try host.records.open(kept: bytes, of: .example, session, at: .fleet)
        },
        Case("intent", \.intent) { host, bytes, session in
            _ = try host.records.intent(bytes, of: session)
        },
        Case("want", \.want) { host, bytes, session in
            _ = try host.records.want(bytes, of: session)
        },
    ]

    @Test(.holds("265"), arguments: cases)
    func `every changed byte is noticed, and leaves no secret in memory`(row: Case) async throws {
        let whole = row.bytes(self)
        let keeper = try fleet.keeper()
        let masks: [UInt8] = TestEnvironment.isFull ? (0..<8).map { 1 << $0 } : [0x01, 0x80]
        for index in whole.indices {
            await Task.yield()
            for mask in masks {
                var changed = whole
                changed[index] ^= mask
                #expect(throws: FleetValueError.self, "byte \(index)") {
                    try row.read(keeper, changed, .work)
                }
            }
        }
        #expect(keeper.kinds.isEmpty)
        #expect(throws: Never.self) { try row.read(keeper, whole, .work) }
        let figure = "\(row.testDescription): \(whole.count * masks.count) changed bits, all noticed"
        Attachment.record(figure, named: "figure")
    }

    @Test(arguments: cases)
    func `a value that is cut or has something after it is refused`(row: Case) throws {
        let whole = row.bytes(self)
        let keeper = try fleet.keeper()
        for count in whole.indices {
            #expect(throws: FleetValueError.self, "\(count) bytes") {
                try row.read(keeper, Array(whole[..<count]), .work)
            }
        }
        #expect(throws: FleetValueError.forged) { try row.read(keeper, whole + [0], .work) }
        let large = whole + [UInt8](repeating: 0, count: FleetValue.maximumReadCount)
        #expect(throws: FleetValueError.tooLong(large.count)) { try row.read(keeper, large, .work) }
        #expect(keeper.kinds.isEmpty)
    }

    @Test(arguments: cases)
    func `a value under another session's key is refused`(row: Case) throws {
        #expect(throws: FleetValueError.forged) { try row.read(try fleet.keeper(), row.bytes(self), .home) }
    }

    @Test(.holds("265"), arguments: cases)
    func `a value of another fleet is refused, even with the same label`(row: Case) throws {
        let other = try FleetFixture()
        #expect(throws: FleetValueError.forged) { try row.read(try other.keeper(), row.bytes(self), .work) }
    }

    @Test(.holds("265"), arguments: cases)
    func `a value in another one's place is refused`(row: Case) throws {
        let keeper = try fleet.keeper()
        for other in FleetTamperingTests.cases where other.testDescription != row.testDescription {
            #expect(throws: FleetValueError.notAValue) { try row.read(keeper, other.bytes(self), .work) }
        }
    }

    @Test func `a reader's value in the place of the keepers', and the other way round, is refused`() throws {
        let (keeper, reader) = (try fleet.keeper(), try fleet.reader())
        #expect(throws: FleetValueError.notAValue) {
            try keeper.open(FleetRecordValues(record: values.access, access: values.access))
        }
        #expect(throws: FleetValueError.notAValue) {
            try reader.open(FleetRecordValues(record: values.record, access: values.record))
        }
    }

    @Test func `what readers open is as safe from changes`() async throws {
        let reader = try fleet.reader()
        let access = try #require(values.access)
        for index in access.indices {
            await Task.yield()
            var changed = access
            changed[index] ^= 0x10
            #expect(throws: FleetValueError.self, "byte \(index)") {
                try reader.open(FleetRecordValues(record: nil, access: changed))
            }
        }
        #expect(throws: FleetValueError.forged) {
            try reader.records.open(values, of: .home, at: .fleet)
        }
        #expect(reader.kinds.isEmpty)
    }

    @Test func `a late answer under the key of another attempt or generation is refused`() throws {
        let keeper = try fleet.keeper()
        for kind in [
            FleetEtcdKey.Kind.late(.example, parent: 8, .other), .late(.example, parent: 7, .example),
            .record,
        ] {
            #expect(throws: FleetValueError.notAValue) {
                try keeper.records.open(late: late, under: keeper.key(kind), of: .work, at: .fleet)
            }
        }
    }

    @Test func `a header of another generation before the same tokens is refused`() throws {
        let keeper = try fleet.keeper()
        var next = FleetHeader.example
        next.generation = 8
        let key = keeper.key(.record)
        let old = FleetValue.head(.record(.example), under: key, epoch: 1)
        let new = FleetValue.head(.record(next), under: key, epoch: 1)
        let record = try #require(values.record)
        #expect(Array(record.prefix(old.count)) == old)
        let forged = FleetRecordValues(record: new + record.dropFirst(old.count), access: values.access)
        #expect(throws: FleetValueError.forged) { try keeper.open(forged) }
    }

    @Test func `a record that was put back as a whole opens as the old one that it is`() throws {
        var next = FleetHeader.example
        next.generation = 8
        _ = try writer.values(try writer.content(refreshToken: "RT-2"), next)
        #expect(try fleet.keeper().open(values).header.generation == 7)
    }

    /// Returns a token forged with the readers' keys: sealed with the right key and name, but with `signature`.
    private func forgedAccess(signature: [UInt8]) throws -> [UInt8] {
        let key = writer.key(.access)
        let head = FleetValue.head(.record(.example), under: key, epoch: 1)
        let associated = FleetSealing(fleet.readers).associatedData(head, under: key)
        var content = try FleetContentWriter.encode(
            .work,
            try writer.content(accessToken: "AT-evil").part(.readers),
            secrets: writer.memory,
            at: .fleet,
            under: FleetSecretSealing(keys: fleet.readers, epoch: 1, name: key.name)
        )
        content.pad(toMultipleOf: PaddedSealing.block)
        let sealed = content.read { content in
            fleet.readers.withKey(for: .accessTokens, epoch: 1) {
                AEAD.seal(content, associated: associated, key: $0)
            }
        }
        return head + (try #require(sealed)) + signature
    }

    @Test(.holds("266")) func `nobody takes access tokens that a reader has made`() throws {
        #expect(fleet.readers.signature(of: [], epoch: 1) == nil)
        let foreign = try #require(try FleetKeys.random(label: "x").signature(of: [], epoch: 1))
        for signature in [[], [UInt8](repeating: 0, count: 64), foreign, values.access?.suffix(64) ?? []] {
            let access = try forgedAccess(signature: Array(signature))
            let (keeper, reader) = (try fleet.keeper(), try fleet.reader())
            #expect(throws: FleetValueError.forged) {
                try reader.open(FleetRecordValues(record: nil, access: access))
            }
            let opened = try keeper.open(FleetRecordValues(record: values.record, access: access))
            #expect(opened.accessFault == .forged)
            let content = try #require(opened.content)
            #expect(content.snapshot.tokens.isEmpty)
            #expect(try keeper.refreshToken(of: content) == "RT-1")
            #expect(keeper.kinds == [.refreshToken] && reader.kinds.isEmpty)
        }
    }

    @Test func `access tokens of another record are not taken for this one's`() throws {
        var header = FleetHeader.example
        header.attempt = .other
        let other = try writer.values(try writer.content(accessToken: "AT-2"), header)
        let keeper = try fleet.keeper()
        let opened = try keeper.open(FleetRecordValues(record: values.record, access: other.access))
        #expect(opened.accessFault == .forged && opened.content?.snapshot.tokens.isEmpty == true)
        #expect(keeper.kinds == [.refreshToken])
    }

    @Test func `a keeper without the readers' value goes on with the refresh token`() throws {
        let keeper = try fleet.keeper()
        let opened = try keeper.open(FleetRecordValues(record: values.record, access: nil))
        #expect(opened.accessFault == .truncated)
        #expect(try keeper.refreshToken(of: opened.content) == "RT-1")
    }

    @Test(.holds("266")) func `a refresh token among what readers open is refused, whoever put it there`()
        throws
    {
        let key = writer.key(.access)
        let plaintext = try FleetContentWriter.encode(
            .work,
            try writer.content(),
            secrets: writer.memory,
            at: .fleet,
            under: FleetSecretSealing(keys: fleet.keepers, epoch: 1, name: key.name)
        )
        let sealing = FleetSealing(fleet.keepers)
        let access = try sealing.seal(plaintext, .record(.example), under: key, epoch: 1)
        let reader = try fleet.reader()
        #expect(throws: FleetValueError.malformed("it has a secret that it must not have")) {
            try reader.open(FleetRecordValues(record: nil, access: access))
        }
        #expect(reader.kinds.isEmpty)
    }

    @Test func `a header that says logged out does not hide tokens, nor the other way round`() throws {
        let keeper = try fleet.keeper()
        let key = keeper.key(.record)
        let sealing = FleetSealing(fleet.keepers)
        let inner = FleetSecretSealing(keys: fleet.keepers, epoch: 1, name: key.name)
        for (content, status) in [(try writer.content(), FleetHeader.LoginStatus.out), (nil, .live)] {
            let plaintext = try FleetContentWriter.encode(
                .work,
                content,
                secrets: writer.memory,
                at: .fleet,
                under: inner
            )
            let value = try sealing.seal(plaintext, .record(.example.with(status)), under: key, epoch: 1)
            #expect(throws: FleetValueError.malformed("it does not match its header")) {
                try keeper.open(FleetRecordValues(record: value, access: nil))
            }
        }
        #expect(keeper.kinds.isEmpty)
    }

    @Test func `no two values of one record are the same bytes`() throws {
        let content = try writer.content()
        let all = try (0..<50).map { _ in try writer.values(content) }
        #expect(Set(all.compactMap(\.record)).count == 50 && Set(all.compactMap(\.access)).count == 50)
    }

    @Test func `no name and no token is in clear in any value`() throws {
        var content = try writer.content(refreshToken: "CANARY-RT", accessToken: "CANARY-AT")
        content.snapshot.account = "canary"
        let session = SessionName.named("canary")
        let records = writer.records
        let values = try records.values(.example, content, of: session, at: .fleet)
        var all = [values.record, values.access].compactMap(\.self)
        all.append(try records.value(.example, content, of: session, at: .fleet))
        all.append(try records.kept(content, of: .example, session, at: .fleet))
        all.append(try records.value(FleetIntent.example, of: session))
        all.append(try records.value(FleetRefreshRequest(lineage: .example, generation: 7), of: session))
        for value in all {
            let text = String(decoding: value, as: UTF8.self)
            for word in ["CANARY", "canary", "example.com", "Bearer", "production"] {
                #expect(!text.contains(word))
            }
        }
    }
}
