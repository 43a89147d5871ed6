// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing

@testable import EtcdClient

private let isMissing: Comment = "set TOKENAGENT_IDP_DIR to the directory of etcd.py"

/// Requests to Debian's etcd.
@Suite(.enabled(if: RealEtcd.script.isAvailable, isMissing), .serialized) struct CallTests {
    @Test func `keys are read, compared, changed and watched`() async throws {
        try await RealEtcd.whileRunning { etcd in
            try await etcd.client().whileOpen { client async throws in
                try await compare(client)
                try await lease(client)
                try await watch(client, of: etcd)
                try await historyCompacted(client, of: etcd)
            }
        }
    }

    @Test func `an etcd without TLS is told from one that is away`() async throws {
        try await RealEtcd.whileRunning { etcd in
            let endpoints = etcd.endpoints.compactMap { EtcdEndpoint("https" + $0.origin.dropFirst(4)) }
            try await EtcdClient(endpoints, EtcdCredentials(), on: .testing).whileOpen {
                client async throws in
                await #expect(throws: EtcdFailure.noHandshake) { _ = try await client.value("a") }
            }
        }
    }

    private func compare(_ client: EtcdClient) async throws {
        let keys = EtcdKeyRange(prefix: Array("a/".utf8))
        let key = Array("a/1".utf8)
        let first = EtcdTransaction(if: [.absent(keys)], then: [.put(key: key, value: [0, 255])])
        let done = try await client.transact(first)
        #expect(done.content && done.header.cluster != 0 && done.date != nil)
        let again = try await client.transact(first)
        #expect(!again.content && again.header.revision == done.header.revision)
        let found = try await client.range(keys)
        #expect(found.content.pairs.map(\.value) == [[0, 255]] && !found.content.hasMore)
        #expect(found.content.pairs.map(\.modRevision) == [done.header.revision])
        let other = EtcdTransaction(if: [.value(key: key, [0])], then: [.delete(keys)])
        #expect(try await !client.transact(other).content)
        let right = EtcdTransaction(
            if: [.value(key: key, [0, 255]), .modified(key: key, done.header.revision)],
            then: [.delete(keys), .put(key: Array("b".utf8), value: [])]
        )
        #expect(try await client.transact(right).content)
        #expect(try await client.range(keys).content.pairs.isEmpty)
        for number in 0..<3 { try await client.put("c/\(number)", "") }
        let some = try await client.range(EtcdKeyRange(prefix: Array("c/".utf8)), limit: 2)
        #expect(some.content.pairs.count == 2 && some.content.hasMore)
    }

    private func lease(_ client: EtcdClient) async throws {
        let lease = try await client.grantLease(.seconds(1)).content
        #expect(lease.lifetime >= .seconds(2), "etcd makes it longer than an election")
        try await client.put("leased", "x", lease: lease.id)
        #expect(try await client.value("leased") == "x")
        #expect(try await Polling.until { try await client.value("leased") == nil })
    }

    private func watch(_ client: EtcdClient, of etcd: RealEtcd) async throws {
        let news = NewsList()
        let start = try await client.range(EtcdKeyRange(key: Array("w".utf8))).header
        try await client.put("w", "before")
        let watch = EtcdWatch(client, EtcdKeyRange(key: Array("w".utf8)))
        let following = Task { await watch.follow(after: start) { news.add($0) } }
        defer { following.cancel() }
        #expect(try await Polling.until { news.values == ["before"] })
        try await client.put("w", "after")
        try await client.put("x", "of no interest")
        _ = try await client.transact(
            EtcdTransaction(if: [], then: [.delete(EtcdKeyRange(key: Array("w".utf8)))])
        )
        #expect(try await Polling.until { news.values == ["before", "after", "gone"] })
        // After the member has restarted, no change is missing.
        try await etcd.order("kill", "n1")
        #expect(try await Polling.until { news.troubles > 0 })
        try await etcd.order("up", "n1")
        #expect(try await Polling.until { (try? await client.put("w", "later")) != nil })
        #expect(try await Polling.until { news.values.last == "later" })
    }

    private func historyCompacted(_ client: EtcdClient, of etcd: RealEtcd) async throws {
        let start = try await client.range(EtcdKeyRange(key: Array("w".utf8))).header
        for number in 0..<5 { try await client.put("w", "\(number)") }
        try await etcd.order("compact")
        let news = NewsList()
        let watch = EtcdWatch(client, EtcdKeyRange(key: Array("w".utf8)))
        let following = Task { await watch.follow(after: start) { news.add($0) } }
        defer { following.cancel() }
        #expect(try await Polling.until { news.standsAfterLoss })
        try await client.put("w", "new")
        #expect(try await Polling.until { news.values == ["new"] })
    }

    @Test(.holds("264")) func `an old snapshot is another history`() async throws {
        try await RealEtcd.whileRunning { etcd in
            try await etcd.client().whileOpen { client async throws in
                try await client.put("s", "old")
                try await etcd.order("snapshot", etcd.work.path("snapshot"))
                for number in 0..<3 { try await client.put("s", "\(number)") }
                let before = try await client.range(EtcdKeyRange(key: Array("s".utf8))).header
                let news = NewsList()
                let watch = EtcdWatch(client, EtcdKeyRange(key: Array("s".utf8)))
                let following = Task { await watch.follow(after: before) { news.add($0) } }
                defer { following.cancel() }
                #expect(try await Polling.until { news.connections > 0 })
                try await etcd.order("restore", etcd.work.path("snapshot"))
                #expect(try await Polling.until { news.hasLostHistory })
                #expect(try await Polling.until { (try? await client.value("s")) == "old" })
                let after = try await client.range(EtcdKeyRange(key: Array("s".utf8))).header
                #expect(after.cluster != before.cluster || after.revision < before.revision)
            }
        }
    }
}
