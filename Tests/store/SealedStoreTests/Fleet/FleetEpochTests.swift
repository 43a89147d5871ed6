// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// New keys of a fleet: who is left out, and what still opens.
struct FleetEpochTests {
    let first: FleetFixture
    let second: FleetFixture

    init() throws {
        first = try FleetFixture()
        second = try FleetFixture(try first.keepers.renewed())
    }

    private func values(_ fixture: FleetFixture) throws -> FleetRecordValues {
        let keeper = try fixture.keeper()
        return try keeper.values(try keeper.content())
    }

    @Test func `a host with the new key opens what was sealed before it`() throws {
        let old = try values(first)
        let (keeper, reader) = (try second.keeper(), try second.reader())
        #expect(try keeper.open(old).epoch == 1)
        #expect(try keeper.refreshToken(of: try keeper.open(old).content) == "RT-1")
        #expect(try reader.open(old).content != nil)
        let intent = try first.keeper().records.value(FleetIntent.example, of: .work)
        #expect(try keeper.records.intent(intent, of: .work) == .example)
    }

    @Test func `a host without the new key opens nothing that is sealed under it`() throws {
        let new = try values(second)
        for host in [try first.keeper(), try first.reader()] {
            #expect(throws: FleetValueError.unknownKey(epoch: 2)) { try host.open(new) }
            #expect(throws: FleetValueError.unknownKey(epoch: 2)) {
                try host.records.header(of: new, of: .work)
            }
        }
        let intent = try second.keeper().records.value(FleetIntent.example, of: .work)
        #expect(throws: FleetValueError.unknownKey(epoch: 2)) {
            try first.keeper().records.intent(intent, of: .work)
        }
    }

    @Test(.holds("265"))
    func `a host that has seen the new key in use takes nothing sealed under an older one`() throws {
        let old = try values(first)
        let (keeper, reader) = (try second.keeper(), try second.reader())
        for host in [keeper, reader] {
            #expect(throws: FleetValueError.retiredKey(epoch: 1)) { try host.open(old, since: 2) }
            #expect(throws: FleetValueError.retiredKey(epoch: 1)) {
                try host.records.header(of: old, of: .work, since: 2)
            }
        }
        let removed = try first.keeper()
        let intent = try removed.records.value(FleetIntent.example, of: .work)
        let want = try removed.records.value(FleetRefreshRequest(lineage: .example, generation: 1), of: .work)
        let late = try removed.records.value(.example, try removed.content(), of: .work, at: .fleet)
        let key = keeper.key(.late(.example, parent: 7, .other))
        #expect(throws: FleetValueError.retiredKey(epoch: 1)) {
            try keeper.records.intent(intent, of: .work, since: 2)
        }
        #expect(throws: FleetValueError.retiredKey(epoch: 1)) {
            try keeper.records.want(want, of: .work, since: 2)
        }
        #expect(throws: FleetValueError.retiredKey(epoch: 1)) {
            try keeper.records.open(late: late, under: key, of: .work, since: 2, at: .fleet)
        }
        #expect(throws: FleetValueError.retiredKey(epoch: 1)) {
            try keeper.records.late(late, under: key, since: 2)
        }
    }

    @Test func `a key that was dropped opens nothing`() throws {
        let old = try values(first)
        let last = try FleetFixture(try second.keepers.renewed(keeping: 1))
        #expect(last.keepers.epochs == [3, 2])
        #expect(throws: FleetValueError.unknownKey(epoch: 1)) { try last.keeper().open(old) }
        #expect(throws: FleetValueError.unknownKey(epoch: 1)) { try last.reader().open(old) }
    }

    @Test func `the epoch before a value cannot be changed to another one`() throws {
        var old = try values(first)
        // magic[7] | version | suite[2] | kind | epoch
        old.record?[11] = 2
        old.access?[11] = 2
        #expect(throws: FleetValueError.forged) { try second.keeper().open(old) }
        #expect(throws: FleetValueError.forged) { try second.reader().open(old) }
    }

    // MARK: Staging

    @Test func `a staged key opens what is sealed under it, and nothing is sealed under it before`() throws {
        let staged = try FleetFixture(try first.keepers.staged())
        #expect(staged.keepers.epoch == 1 && staged.keepers.stagedEpoch == 2)
        let active = try FleetFixture(try staged.keepers.activated())
        #expect(active.keepers.epoch == 2 && active.keepers.stagedEpoch == nil)
        // All hosts have the file by then, and open what the first one writes that uses the new key.
        let new = try values(active)
        for host in [try staged.keeper(), try staged.reader()] { #expect(try host.open(new).epoch == 2) }
        #expect(try first.keeper().open(try values(staged)).epoch == 1)
        #expect(throws: FleetValueError.unknownKey(epoch: 2)) { try first.keeper().open(new) }
    }

    @Test func `who has a staged key uses it as soon as another host does`() throws {
        let keys = try first.keepers.staged()
        keys.follow(3)
        #expect(keys.epoch == 1)
        keys.follow(2)
        #expect(keys.epoch == 2 && keys.stagedEpoch == nil)
        keys.follow(1)
        #expect(keys.epoch == 2)
        let following = try FleetFixture(keys)
        let (record, intent) = (
            try values(following), try following.keeper().records.value(FleetIntent.example, of: .work)
        )
        #expect(try following.keeper().open(record, since: 2).epoch == 2)
        #expect(try following.keeper().records.intent(intent, of: .work, since: 2) == .example)
    }

    @Test func `a key is staged once, and only a staged one is activated`() throws {
        let keys = try first.keepers.staged(keeping: 3)
        #expect(keys.epochs == [1, 2])
        #expect(try keys.staged().epochs == [1, 2])
        // A host that is to be shut out may have the staged key.
        #expect(try keys.renewed(keeping: 3).epochs == [3, 2, 1])
        #expect(throws: FleetKeyError.nothingStaged) { try first.keepers.activated() }
    }
}
