// SPDX-License-Identifier: MIT

import SealedStore
import TestSupport
import Testing
import TokenCore

@testable import FleetStore

/// Values that hosts write to a real etcd and that other hosts read.
@Suite(.enabled(if: StoreHost.etcd.isAvailable)) struct FleetStoreTests {
    @Test func `what one host writes another opens, and a stranger's table does not`() async throws {
        let keys = try FleetKeys.random(label: "team")
        try await StoreHost.whileRunning { host in
            let (one, other, stranger) = (
                try host(keys, "client"), try host(keys, "client"), try host(keys, "another")
            )
            let header = FleetHeader.first
            let readResult = try await one.look()
            #expect(readResult.view.record == nil)
            let write = FleetTransaction(if: [.record(nil)], then: [.putRecord(header)])
            let contents = [header.attempt: try one.login("RT-1", "AT-1")]
            #expect(try await one.carryOut(write, seen: readResult, contents))
            // Another host was faster.
            #expect(
                try await !other.carryOut(
                    write,
                    seen: readResult,
                    [header.attempt: try other.login("RT-2", "AT-2")]
                )
            )
            let seen = try await other.look()
            #expect(seen.view.record == header)
            let opened = try #require(try other.store.open(header.attempt, in: seen, as: other.binding))
            guard case .refreshToken(let secret) = opened.renewal else {
                Issue.record("no refresh token")
                return
            }
            #expect(try other.text(secret) == "RT-1")
            #expect(try other.text(try #require(opened.tokens[.primary]).secret) == "AT-1")
            let found = try await stranger.look()
            let storeError = #expect(throws: FleetStoreError.self) {
                _ = try stranger.store.open(header.attempt, in: found, as: stranger.binding)
            }
            #expect(storeError?.kind == .foreign)
            #expect(storeError?.sentence.contains("client_id") == true)
            for host in [one, other, stranger] { await host.store.close() }
        }
    }

    @Test func `conditions compare the values that were seen`() async throws {
        let keys = try FleetKeys.random(label: "team")
        try await StoreHost.whileRunning { host in
            let one = try host(keys, "client")
            let header = FleetHeader.first
            var readResult = try await one.look()
            let content = [header.attempt: try one.login("RT-1", "AT-1")]
            let write = FleetTransaction(if: [.record(nil)], then: [.putRecord(header)])
            try await one.carryOut(write, seen: readResult, content)
            readResult = try await one.look()
            // The same record, sealed again: a host that has read the previous value changes nothing.
            let again = FleetTransaction(if: [.record(header)], then: [.putRecord(header)])
            #expect(try await one.carryOut(again, seen: readResult, content))
            #expect(try await !one.carryOut(again, seen: readResult, content))
            var other = header
            other.generation = 4
            let unknown = FleetTransaction(if: [.record(other)], then: [.deleteIntent])
            let storeError = #expect(throws: FleetStoreError.self) {
                _ = try one.store.seal(
                    unknown,
                    of: StoreHost.session,
                    as: one.binding,
                    seen: readResult,
                    contents: [:],
                    lease: nil
                )
            }
            #expect(storeError?.kind == .unknownValue)
            await one.store.close()
        }
    }

    @Test func `a lock ends with its lease, and the intent stays`() async throws {
        let keys = try FleetKeys.random(label: "team")
        try await StoreHost.whileRunning { host in
            let one = try host(keys, "client")
            let attempt = AttemptID(host: 1, random: 9)
            let readResult = try await one.look()
            let lease = try await one.store.grantLease(.seconds(1))
            let intent = FleetIntent(
                lineage: Lineage(number: 1, id: 7),
                generation: 3,
                attempt: attempt,
                at: readResult.view.time,
                first: readResult.view.time,
                before: []
            )
            let reserve = FleetTransaction(
                if: [.lock(nil), .intent(nil), .noLate(intent.lineage, parent: 3)],
                then: [.putLock(attempt), .putIntent(intent)]
            )
            #expect(try await one.carryOut(reserve, seen: readResult, lease: lease))
            let held = try await one.look()
            #expect(held.view.lock == attempt)
            #expect(held.view.intent == intent)
            #expect(try await Polling.until { try await one.look().view.lock == nil })
            #expect(try await one.look().view.intent == intent)
            await one.store.close()
        }
    }

    @Test func `a change is shown with all keys of the session`() async throws {
        let keys = try FleetKeys.random(label: "team")
        try await StoreHost.whileRunning { host in
            let (one, other) = (try host(keys, "client"), try host(keys, "client"))
            let header = FleetHeader.first
            let (news, told) = AsyncStream<FleetEvent>.makeStream()
            let watch = Task { await other.store.follow([StoreHost.session]) { told.yield($0) } }
            var iterator = news.makeAsyncIterator()
            #expect(await iterator.next() == .connected)
            guard case .shown(let before)? = await iterator.next() else {
                Issue.record("nothing was read at the beginning")
                return
            }
            #expect(before.view.record == nil)
            let readResult = try await one.look()
            let write = FleetTransaction(if: [.record(nil)], then: [.putRecord(header)])
            try await one.carryOut(write, seen: readResult, [header.attempt: try one.login("RT-1", "AT-1")])
            guard case .shown(let after)? = await iterator.next() else {
                Issue.record("the change was not shown")
                return
            }
            #expect(after.view.record == header)
            #expect(after.view.place.revision > before.view.place.revision)
            #expect(try other.store.open(header.attempt, in: after, as: other.binding) != nil)
            watch.cancel()
            await watch.value
            for host in [one, other] { await host.store.close() }
        }
    }

    @Test func `hosts say who they are, and are taken out`() async throws {
        let keys = try FleetKeys.random(label: "team")
        try await StoreHost.whileRunning { host in
            let one = try host(keys, "client")
            _ = try await one.look()
            let time = try #require(one.store.time)
            let card = HostDescription(id: 77, role: .keeper, label: "build-1", version: "0.1.0", seen: time)
            let value = String(decoding: try one.store.records.value(card), as: UTF8.self)
            #expect(!value.contains("build-1") && !value.contains("0.1.0"))
            try await one.store.announce(card)
            let survey = await one.store.survey([StoreHost.session])
            #expect(survey.hosts == [card])
            #expect(survey.members.map(\.hasLeader) == [true])
            let lost = HostDescription(
                id: 78,
                role: .reader,
                label: "old",
                version: "0.1.0",
                seen: time + .seconds(-8 * 86_400)
            )
            try await one.store.announce(lost)
            #expect(await one.store.survey([]).hosts == [card])
            try await one.store.withdraw(host: 77)
            #expect(await one.store.survey([]).hosts == [])
            await one.store.close()
        }
    }

    @Test func `an intent under a key that was replaced names what helps, and is kept in its effect`()
        async throws
    {
        let keys = try FleetKeys.random(label: "team")
        let renewed = try keys.renewed()
        try await StoreHost.whileRunning { host in
            let (former, present) = (try host(keys, "client"), try host(renewed, "client"))
            let header = FleetHeader.first
            var readResult = try await former.look()
            let intent = FleetIntent(
                lineage: header.lineage,
                generation: header.generation,
                attempt: AttemptID(host: 1, random: 9),
                at: readResult.view.time,
                first: readResult.view.time,
                before: []
            )
            let write = FleetTransaction(if: [.record(nil)], then: [.putRecord(header), .putIntent(intent)])
            try await former.carryOut(write, seen: readResult, [header.attempt: try former.login("RT", "AT")])
            // The record alone is written again.
            readResult = try await present.look()
            let again = FleetTransaction(if: [.record(header)], then: [.putRecord(header)])
            try await present.carryOut(
                again,
                seen: readResult,
                [header.attempt: try present.login("RT", "AT")]
            )
            let storeError = await #expect(throws: FleetStoreError.self) {
                _ = try await present.store.look(at: StoreHost.session, since: 2)
            }
            #expect(storeError?.sentence.contains("the intent of work") == true)
            #expect(storeError?.remedy?.text.contains("tokenctl fleet repair work") == true)
            let count = try await present.store.discardUnreadable(
                of: StoreHost.session,
                since: 2,
                unless: present.binding
            )
            #expect(count == 1)
            readResult = try await present.store.look(at: StoreHost.session, since: 2)
            #expect(readResult.view.mayHaveLostRefresh)
            let kept = try #require(readResult.view.intent)
            let timing = FleetTiming(reuse: .refused)
            let wait = readResult.view.wait(at: 1, until: nil, timing, now: present.time.now)
            // etcd's clock is a real one, and may show another second by the time of the look.
            #expect(wait?.time == timing.takeoverTimeout - (readResult.view.time - kept.at))
            #expect(kept.at >= intent.at && kept.at <= readResult.view.time)
            for host in [former, present] { await host.store.close() }
        }
    }

    @Test func `what a newer program has written is not discarded`() async throws {
        let keys = try FleetKeys.random(label: "team")
        try await StoreHost.whileRunning { host in
            let one = try host(keys, "client")
            let names = one.store.records.names
            let key = names.bytes(of: FleetEtcdKey(.record, of: names.name(of: StoreHost.session)))
            try await one.store.change(.put(key: key, value: Array("TKAFLT\0".utf8) + [2, 0, 1, 1]))
            let count = try await one.store.discardUnreadable(of: StoreHost.session, since: 0, unless: nil)
            #expect(count == 0)
            let storeError = await #expect(throws: FleetStoreError.self) { _ = try await one.look() }
            #expect(storeError?.sentence.contains("newer than this program") == true)
            await one.store.close()
        }
    }
}

@Suite struct EtcdTimeTests {
    @Test(.holds("268"))
    func `the answer that is furthest ahead is believed, and a clock that was set is followed`() {
        let clock = EtcdClockEstimate()
        #expect(clock.time(at: .seconds(10)) == nil)
        clock.heard(1_000, at: .seconds(10))
        // Half a second later the clock shows the next second, so the fraction of the first response had been cut off.
        clock.heard(1_001, at: .seconds(10) + .milliseconds(500))
        #expect(clock.time(at: .seconds(11)) == WallTime(secondsSince1970: 1_001, fraction: 500_000_000))
        // The fraction was cut off, or the response was slow.
        clock.heard(1_001, at: .seconds(11))
        #expect(clock.time(at: .seconds(11)) == WallTime(secondsSince1970: 1_001, fraction: 500_000_000))
        clock.heard(900, at: .seconds(12))
        #expect(clock.time(at: .seconds(12)) == WallTime(secondsSince1970: 900))
    }
}
