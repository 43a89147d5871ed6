// SPDX-License-Identifier: MIT

import SecretMemory
import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// Records that one host writes and another one uses as its own.
struct FleetRecordTests {
    let fleet: FleetFixture

    init() throws {
        fleet = try FleetFixture()
    }

    @Test func `a keeper opens everything of what another keeper wrote`() throws {
        let (writer, keeper) = (try fleet.keeper(), try fleet.keeper())
        var content = try writer.content()
        content.snapshot.proofKey = try writer.secret(String(repeating: "k", count: 32), .proofKey)
        let opened = try keeper.open(try writer.values(content))
        #expect(opened.header == .example && opened.epoch == 1 && opened.accessFault == nil)
        let found = try #require(opened.content)
        #expect(try keeper.comparable(found) == writer.comparable(content).later(by: .seconds(-1)))
        #expect(try keeper.refreshToken(of: found) == "RT-1")
    }

    @Test func `a reader gets the access tokens, and nothing that renews them`() throws {
        let (writer, reader) = (try fleet.keeper(), try fleet.reader())
        var content = try writer.content()
        content.snapshot.proofKey = try writer.secret(String(repeating: "k", count: 32), .proofKey)
        content.snapshot.keptMembers = ["userId": "42"]
        content.snapshot.account = "alice"
        let opened = try reader.open(try writer.values(content))
        let found = try #require(opened.content)
        #expect(opened.header == .example)
        #expect(found.snapshot.renewal == .impossible)
        #expect(found.snapshot.proofKey == nil)
        #expect(found.snapshot.keptMembers == ["userId": "42"] && found.snapshot.account == "alice")
        let token = try #require(found.snapshot.tokens[.primary])
        #expect(try reader.text(token.secret) == "AT-1")
        #expect(try token.idToken.map { try reader.text($0.secret) } == "ID-1")
        #expect(token.scope == ["openid", "offline_access"])
        #expect(Set(reader.kinds) == [.accessToken, .idToken])
    }

    @Test(.holds("266"))
    func `a reader opens nothing that is for keepers, and its memory never holds such a secret`() throws {
        let (writer, reader) = (try fleet.keeper(), try fleet.reader())
        let content = try writer.content()
        let values = try writer.values(content)
        let late = try writer.records.value(.example, content, of: .work, at: writer.clock)
        let kept = try writer.records.kept(content, of: .example, .work, at: writer.clock)
        let intent = try writer.records.value(FleetIntent.example, of: .work)
        let lateKey = reader.key(.late(.example, parent: 7, .other))
        #expect(throws: FleetValueError.closedToReaders) {
            try reader.records.open(late: late, under: lateKey, of: .work, at: .fleet)
        }
        #expect(throws: FleetValueError.closedToReaders) { try reader.records.late(late, under: lateKey) }
        #expect(throws: FleetValueError.closedToReaders) {
            try reader.records.open(kept: kept, of: .example, .work, at: .fleet)
        }
        #expect(throws: FleetValueError.closedToReaders) { try reader.records.intent(intent, of: .work) }
        #expect(throws: FleetValueError.truncated) {
            try reader.open(FleetRecordValues(record: values.record, access: nil))
        }
        #expect(throws: FleetValueError.notAValue) {
            try reader.open(FleetRecordValues(record: values.record, access: values.record))
        }
        #expect(reader.kinds.isEmpty)
    }

    @Test func `a reader writes wants and nothing else`() throws {
        let (reader, keeper) = (try fleet.reader(), try fleet.keeper())
        let want = FleetRefreshRequest(lineage: .example, generation: 7)
        let value = try reader.records.value(want, of: .work)
        #expect(try keeper.records.want(value, of: .work) == want)
        let token = try reader.secret("AT", .accessToken)
        var content = try reader.content()
        content.snapshot.renewal = .impossible
        #expect(throws: StorageFailure.self) { try reader.values(content) }
        #expect(throws: StorageFailure.self) {
            try reader.records.sealing.seal(
                WipedBytes(),
                .record(.example),
                under: reader.key(.access),
                epoch: 1
            )
        }
        #expect(throws: StorageFailure.self) {
            try reader.records.value(.example, content, of: .work, at: .fleet)
        }
        #expect(throws: StorageFailure.self) { try reader.records.value(FleetIntent.example, of: .work) }
        #expect(throws: StorageFailure.self) { try reader.records.mark(of: token) }
    }

    @Test func `a late answer and kept tokens come back whole`() throws {
        let (writer, keeper) = (try fleet.keeper(), try fleet.keeper())
        let content = try writer.content(refreshToken: "RT-late")
        let expected = try writer.comparable(content).later(by: .seconds(-1))
        let value = try writer.records.value(.example, content, of: .work, at: writer.clock)
        let key = keeper.key(.late(.example, parent: 7, .other))
        #expect(try keeper.records.late(value, under: key) == .example)
        let opened = try keeper.records.open(late: value, under: key, of: .work, at: .fleet)
        #expect(opened.late == .example)
        #expect(try keeper.comparable(opened.content) == expected)
        let kept = try writer.records.kept(content, of: .other, .work, at: writer.clock)
        let found = try keeper.records.open(kept: kept, of: .other, .work, at: .fleet)
        #expect(try keeper.comparable(found) == expected)
    }

    @Test(arguments: [FleetHeader.LoginStatus.live, .rescued] + EndReason.allCases.map { .dead($0) })
    func `a header says what the record is, without a secret leaving it`(
        status: FleetHeader.LoginStatus
    ) throws {
        let (writer, keeper, reader) = (try fleet.keeper(), try fleet.keeper(), try fleet.reader())
        let header = FleetHeader.example.with(status)
        let values = try writer.values(try writer.content(), header)
        for host in [keeper, reader] {
            let found = try host.records.header(of: values, of: .work)
            #expect(found.header == header && found.epoch == 1)
            #expect(host.kinds.isEmpty)
        }
        #expect(try keeper.open(values).header == header)
    }

    @Test func `a session that is logged out has nothing in its record`() throws {
        let (writer, keeper, reader) = (try fleet.keeper(), try fleet.keeper(), try fleet.reader())
        let header = FleetHeader.example.with(.out)
        let values = try writer.values(try writer.content(), header)
        for host in [keeper, reader] {
            let opened = try host.open(values)
            #expect(opened.header == header && opened.content == nil && opened.accessFault == nil)
            #expect(host.kinds.isEmpty)
        }
    }

    @Test func `intents are the same bytes for the same intent`() throws {
        let (writer, keeper) = (try fleet.keeper(), try fleet.keeper())
        let value = try writer.records.value(FleetIntent.example, of: .work)
        #expect(try keeper.records.value(FleetIntent.example, of: .work) == value)
        #expect(try keeper.records.intent(value, of: .work) == .example)
        var other = FleetIntent.example
        other.before = []
        #expect(try keeper.records.value(other, of: .work) != value)
        other.isRefused = true
        let refused = try keeper.records.value(other, of: .work)
        #expect(try writer.records.intent(refused, of: .work) == other)
    }

    @Test func `an intent was refused, or it was not`() throws {
        for (byte, isRefused) in [(0, false), (1, true), (2, nil), (255, nil)] as [(UInt8, Bool?)] {
            var bytes: [UInt8] = []
            bytes.append(FleetIntent.example)
            bytes[bytes.count - 1] = byte
            let intent = bytes.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                return try? reader.fleetIntent()
            }
            #expect(intent?.isRefused == isRefused)
        }
    }

    @Test func `a locked host says that it is locked`() throws {
        let (writer, keeper, reader) = (try fleet.keeper(), try fleet.keeper(), try fleet.reader())
        let values = try writer.values(try writer.content())
        reader.memory.lock()
        keeper.memory.lock()
        #expect(throws: FleetValueError.locked) { try keeper.open(values) }
        #expect(throws: FleetValueError.locked) { try reader.open(values) }
        #expect(try keeper.records.header(of: values, of: .work).header == .example)
    }

    @Test func `a lock says whose it is`() throws {
        #expect(try FleetRecords.lock(FleetRecords.value(lock: .example)) == .example)
        for count in [0, 15, 17] {
            #expect(throws: FleetValueError.notAValue) {
                try FleetRecords.lock([UInt8](repeating: 1, count: count))
            }
        }
    }

    @Test func `a mark tells refresh tokens apart, and is another one in another fleet or epoch`() throws {
        let (one, other) = (try fleet.keeper(), try fleet.keeper())
        let mark = try one.records.mark(of: try one.secret("RT-1", .refreshToken))
        #expect(try other.records.mark(of: try other.secret("RT-1", .refreshToken)) == mark)
        #expect(try one.records.mark(of: try one.secret("RT-2", .refreshToken)) != mark)
        for keys in [try FleetKeys.random(label: "x"), try fleet.keepers.renewed()] {
            let host = try FleetHost(keys, .fleet)
            #expect(try host.records.mark(of: try host.secret("RT-1", .refreshToken)) != mark)
        }
    }

    @Test func `a table that differs is named by its keys`() {
        let one = FleetLoginSettings.example
        #expect(one.differences(from: one).isEmpty)
        var other = one
        other.issuer = "https://evil.example.com"
        other.endpoint = "https://evil.example.com/token"
        #expect(one.differences(from: other) == ["issuer", "token_endpoint"])
        // Unicode calls these two equivalent.
        (other, other.client) = (one, "e\u{301}")
        var third = one
        third.client = "\u{E9}"
        #expect(other.differences(from: third) == ["client_id"])
    }

    @Test func `what is read is what was written, whatever it is`() async throws {
        var generator = SeededGenerator(seed: 2_026)
        let rounds = TestEnvironment.isFull ? 5_000 : 200
        for round in 0..<rounds {
            await Task.yield()
            let (writer, keeper, reader) = (try fleet.keeper(), try fleet.keeper(), try fleet.reader())
            var content = try writer.content(using: &generator)
            content.snapshot.fleet = .example
            let values = try writer.values(content)
            content.snapshot.fleet = nil
            let expected = try writer.comparable(content).later(by: .seconds(-1))
            let opened = try #require(try keeper.open(values).content)
            #expect(try keeper.comparable(opened) == expected, "round \(round)")
            let read = try #require(try reader.open(values).content)
            #expect(try reader.comparable(read) == expected.part(.readers), "round \(round)")
            #expect(Set(reader.kinds).isSubset(of: [.accessToken, .idToken]))
        }
        Attachment.record("\(rounds) sessions, all as they were written", named: "figure")
    }
}
