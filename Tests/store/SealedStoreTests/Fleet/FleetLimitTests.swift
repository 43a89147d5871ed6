// SPDX-License-Identifier: MIT

import Testing
import TokenCore

@testable import SealedStore

/// The size of written values, which must fit into one request to etcd.
struct FleetLimitTests {
    let fleet: FleetFixture
    let keeper: FleetHost

    init() throws {
        fleet = try FleetFixture()
        keeper = try fleet.keeper()
    }

    private func content(variants count: Int, of size: Int) throws -> FleetSessionContent {
        var content = try keeper.content()
        let token = try #require(content.snapshot.tokens[.primary])
        for number in 0..<count {
            let variant = TokenVariant(scopes: ["mail"], audience: "https://api\(number).example")
            content.snapshot.tokens[variant] = token
            let text = String(repeating: "a", count: size - 8) + "\(10_000_000 + number)"
            content.snapshot.tokens[variant]?.secret = try keeper.secret(text, .accessToken)
        }
        return content
    }

    @Test(arguments: [(0, 10, true), (20, 30_000, true), (20, 40_000, false), (2_000, 1_000, false)])
    func `tokens of further audiences are left out where they do not fit`(
        count: Int,
        size: Int,
        fits: Bool
    ) throws {
        let content = try content(variants: count, of: size)
        let values = try keeper.values(content)
        let late = try keeper.records.value(.example, content, of: .work, at: .fleet)
        let length = (values.record?.count ?? 0) + (values.access?.count ?? 0)
        #expect(max(length, late.count) <= FleetRecords.maximumCount)
        #expect(length + late.count < 1_500_000)
        let expected = fits ? count + 1 : 1
        #expect(try fleet.reader().open(values).content?.snapshot.tokens.count == expected)
        let key = keeper.key(.late(.example, parent: 7, .other))
        let opened = try fleet.keeper().records.open(late: late, under: key, of: .work, at: .fleet)
        #expect(opened.content.snapshot.tokens.count == expected)
    }

    @Test func `a login that is itself too long is a failure that says so`() throws {
        var content = try keeper.content()
        content.snapshot.keptMembers = ["badge": String(repeating: "x", count: 721_000)]
        for write in [
            { _ = try keeper.values(content) },
            { _ = try keeper.records.value(.example, content, of: .work, at: .fleet) },
            { _ = try keeper.records.kept(content, of: .example, .work, at: .fleet) },
        ] {
            do {
                try write()
                Issue.record("it was written")
            } catch let failure as StorageFailure {
                #expect(failure.message.contains("work") && failure.message.contains("720896"))
            }
        }
    }

    @Test func `the length of a token does not show`() throws {
        let counts = try (1...40).map { length in
            let content = try keeper.content(refreshToken: String(repeating: "t", count: length))
            return try keeper.values(content).record?.count
        }
        #expect(Set(counts).count == 1)
    }

    @Test func `a secret that is no longer in memory is a failure`() throws {
        let content = try keeper.content()
        if case .refreshToken(let secret) = content.snapshot.renewal { keeper.memory.erase(secret) }
        #expect(throws: StorageFailure.self) { try keeper.values(content) }
        keeper.memory.lock()
        #expect(throws: StorageFailure.self) { try keeper.values(content) }
    }
}
