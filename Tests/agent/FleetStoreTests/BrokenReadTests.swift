// SPDX-License-Identifier: MIT

import EtcdClient
import SealedStore
import SecretMemory
import ServerSettings
import Synchronization
import TestSupport
import Testing
import Text
import TokenCore

@testable import FleetStore

/// A read of all records that ends before its last page.
@Suite(.timeLimit(.minutes(1))) struct BrokenReadTests {
    private static let time = "Date: Thu, 01 Jan 2026 00:00:00 GMT"

    @Test func `no part of a session is shown for the whole of it`() async throws {
        try await Self.whileFollowing(silence: .seconds(600)) { member, news, _ async throws in
            var news = news
            #expect(await news.next() == .connected)
            #expect(await news.next() == .changed(StoreHost.session))
            // The lock was read. If it had been stored, this would be a session with a lock and without a record.
            member.delete(.want)
            #expect(await news.next() == .changed(StoreHost.session))
        }
    }

    @Test func `it is read again after a silence`() async throws {
        try await Self.whileFollowing(silence: .seconds(2)) { member, news, _ async throws in
            var news = news
            #expect(await news.next() == .connected)
            #expect(await news.next() == .changed(StoreHost.session))
            member.isWhole = true
            var shown: FleetReadResult?
            while shown == nil {
                switch await news.next() {
                case .shown(let readResult): shown = readResult
                case nil:
                    Issue.record("nothing was shown")
                    return
                default: continue
                }
            }
            #expect(shown?.view.lock == Member.lock)
            #expect(shown?.view.record == nil)
        }
    }

    @Test func `a silence is told, and nothing is read for it`() async throws {
        try await Self.whileFollowing(silence: .seconds(2), isWhole: true) {
            member,
            news,
            _ async throws in
            var news = news
            guard await Self.isRead(&news) else { return }
            let reads = member.reads
            #expect(await news.next() == .resumed)
            #expect(await news.next() == .resumed)
            #expect(member.reads == reads)
        }
    }

    @Test func `what others write in the same etcd is asked for once`() async throws {
        try await Self.whileFollowing(silence: .seconds(2), isWhole: true) {
            member,
            news,
            _ async throws in
            var news = news
            guard await Self.isRead(&news) else { return }
            member.isOthers = true
            for revision in [5, 6] {
                let questions = member.questions
                member.revision = revision
                for _ in 1...4 { #expect(await news.next() == .resumed) }
                #expect(member.questions == questions + 1)
            }
        }
    }

    @Test func `what is held back from the watch is read after a silence, and said`() async throws {
        try await Self.whileFollowing(silence: .seconds(2), isWhole: true) {
            member,
            news,
            store async throws in
            var news = news
            guard await Self.isRead(&news) else { return }
            #expect(await news.next() == .resumed)
            #expect(store.flow.storeError == nil)
            member.revision = 5
            var place: FleetRevision?
            while place == nil {
                switch await news.next() {
                case .shown(let readResult): place = readResult.view.place
                case .resumed: continue
                case let other:
                    Issue.record("\(String(describing: other))")
                    return
                }
            }
            #expect(place?.revision == 5)
            #expect(store.flow.storeError?.remedy?.text.contains("/v3/watch") == true)
            // Once for each change.
            let reads = member.reads
            #expect(await news.next() == .resumed)
            #expect(await news.next() == .resumed)
            #expect(member.reads == reads)
            // The watch may just be starting again.
            var shown: FleetEvent? = .resumed
            while shown == .resumed {
                member.delete(.want)
                shown = await news.next()
            }
            #expect(store.flow.storeError == nil)
        }
    }

    @Test(arguments: Member.Withheld.allCases)
    fileprivate func `where no watch can be had everything is read all the same, and that is said`(
        withheld: Member.Withheld
    ) async throws {
        try await Self.whileFollowing(silence: .seconds(2), isWhole: true, withheld) {
            member,
            news,
            store async throws in
            var news = news
            var place: FleetRevision?
            while store.flow.storeError == nil || place?.revision != 5 {
                switch await news.next() {
                case .shown(let readResult): place = readResult.view.place
                case .storeError: member.revision = 5
                case let other:
                    Issue.record("\(String(describing: other))")
                    return
                }
            }
            #expect(store.flow.storeError?.remedy?.text.contains("/v3/watch") == true)
            member.withheld = nil
            while true {
                switch await news.next() {
                case .shown, .storeError: continue
                case let other:
                    #expect(other == .connected)
                    #expect(store.flow.storeError == nil)
                    return
                }
            }
        }
    }

    private static func whileFollowing(
        silence: Duration,
        isWhole: Bool = false,
        _ withheld: Member.Withheld? = nil,
        _ body: (Member, AsyncStream<FleetEvent>.Iterator, FleetStore) async throws -> Void
    ) async throws {
        let member = try Member()
        member.isWhole = isWhole
        member.withheld = withheld
        let server = try StreamingServer { request, peer in member.answer(request, peer) }
        let endpoint = try #require(EtcdEndpoint("http://127.0.0.1:\(server.port)"))
        let host = try StoreHost(member.keys, [endpoint], "client", silence: silence)
        let (news, told) = AsyncStream<FleetEvent>.makeStream()
        let watch = Task { await host.store.follow([StoreHost.session]) { told.yield($0) } }
        try await body(member, news.makeAsyncIterator(), host.store)
        watch.cancel()
        await watch.value
        await host.store.close()
    }

    /// Returns `true` if the watch has connected and all keys have been read.
    private static func isRead(_ news: inout AsyncStream<FleetEvent>.Iterator) async -> Bool {
        #expect(await news.next() == .connected)
        guard case .shown? = await news.next() else {
            Issue.record("nothing was read at the beginning")
            return false
        }
        return true
    }

    /// A member of etcd whose first page has a lock, and whose second one ends the connection.
    fileprivate final class Member: Sendable {
        /// The part of a watch response that a gateway does not forward.
        enum Withheld: CaseIterable, Sendable {
            case all
            case lines
        }

        static let lock = AttemptID(host: 1, random: 9)

        let keys: FleetKeys
        private let names: FleetNames
        private let state = Mutex(State())

        private struct State {
            var isWhole = false
            var withheld: Withheld?
            var reads = 0
            var questions = 0
            var isOthers = false
            var revision = 3
            var watcher: StreamingServer.Peer?
        }

        init() throws {
            keys = try FleetKeys.random(label: "team")
            names = FleetRecords(keys: keys, memory: try SealedMemory()).names
        }

        /// Whether the second page comes.
        var isWhole: Bool {
            get { state.withLock(\.isWhole) }
            set { state.withLock { $0.isWhole = newValue } }
        }

        var withheld: Withheld? {
            get { state.withLock(\.withheld) }
            set { state.withLock { $0.withheld = newValue } }
        }

        /// The current revision.
        var revision: Int {
            get { state.withLock(\.revision) }
            set { state.withLock { $0.revision = newValue } }
        }

        /// Whether only keys of another fleet change.
        var isOthers: Bool {
            get { state.withLock(\.isOthers) }
            set { state.withLock { $0.isOthers = newValue } }
        }

        /// The number of requests for changes since a revision.
        var questions: Int { state.withLock(\.questions) }

        /// The number of requests for the first page.
        var reads: Int { state.withLock(\.reads) }

        func answer(_ request: StreamingServer.Request, _ peer: StreamingServer.Peer) {
            if request.target.hasSuffix("/watch") {
                let withheld = withheld
                if withheld != .all { peer.beginStream() }
                guard withheld == nil else { return peer.waitUntilLeft() }
                peer.piece(#"{"result":{\#(header(revision)),"created":true}}"# + "\n")
                state.withLock { $0.watcher = peer }
                peer.waitUntilLeft()
            } else if let after = request.json?["min_mod_revision"]?.string.flatMap({ Int($0) }) {
                let pair = #"{"key":"\#(key(.want))","mod_revision":"\#(revision)"}"#
                state.withLock { $0.questions += 1 }
                let kvs = after <= revision && !isOthers ? #","kvs":[\#(pair)]"# : ""
                peer.answer(200, "{\(header(revision))\(kvs)}", fields: [BrokenReadTests.time])
            } else if request.json?["key"]?.string == Base64.encoded(names.all.start) {
                state.withLock { $0.reads += 1 }
                let pair =
                    #"{"key":"\#(key(.lock))","value":"\#(Base64.encoded(FleetRecords.value(lock: Self.lock)))","mod_revision":"2"}"#
                peer.answer(
                    200,
                    #"{\#(header(revision)),"kvs":[\#(pair)],"more":true}"#,
                    fields: [BrokenReadTests.time]
                )
            } else if isWhole {
                peer.answer(200, "{\(header(revision))}", fields: [BrokenReadTests.time])
            } else {
                peer.leave()
            }
        }

        /// Sends the deletion of a key to the watcher.
        func delete(_ kind: FleetEtcdKey.Kind) {
            let next = revision + 1
            let event = #"{"type":"DELETE","kv":{"key":"\#(key(kind))","mod_revision":"\#(next)"}}"#
            state.withLock { $0.watcher }?.piece(
                #"{"result":{\#(header(next)),"events":[\#(event)]}}"# + "\n"
            )
        }

        private func key(_ kind: FleetEtcdKey.Kind) -> String {
            Base64.encoded(names.bytes(of: FleetEtcdKey(kind, of: names.name(of: StoreHost.session))))
        }

        private func header(_ revision: Int) -> String {
            #""header":{"cluster_id":"1","member_id":"2","revision":"\#(revision)"}"#
        }
    }
}
