// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

@testable import EtcdClient

private let isMissing: Comment = "set TOKENAGENT_IDP_DIR to the directory of etcd.py"

/// Watches at Debian's etcd: expired tokens, missed changes, and members without a leader.
@Suite(.enabled(if: RealEtcd.script.isAvailable, isMissing), .serialized) struct WatchTests {
    private static let all = EtcdKeyRange(prefix: Array("/tokenagent/".utf8))

    @Test func `a watch whose token has died asks for another one by itself`() async throws {
        try await RealEtcd.whileRunning(["--tls", "--auth"]) { etcd in
            try await etcd.client(user: "keeper").whileOpen { client async throws in
                let news = NewsList()
                let watch = EtcdWatch(client, Self.all, silence: .seconds(1))
                let following = Task { await watch.follow(after: nil) { news.add($0) } }
                defer { following.cancel() }
                #expect(try await Polling.until { news.connections == 1 })
                try await etcd.order("kill-tokens", "keeper")
                #expect(
                    try await Polling.until(within: .seconds(20)) { news.connections >= 2 },
                    "\(news.all)"
                )
            }
        }
    }

    @Test func `a watch goes on after a silence, and tells each change once`() async throws {
        try await RealEtcd.whileRunning { etcd in
            try await etcd.client().whileOpen { client async throws in
                let news = NewsList()
                let watch = EtcdWatch(client, Self.all, silence: .seconds(1))
                let following = Task { await watch.follow(after: nil) { news.add($0) } }
                defer { following.cancel() }
                #expect(try await Polling.until { news.connections == 1 })
                for number in 1...3 {
                    try await client.put("/tokenagent/x", "\(number)")
                    #expect(
                        try await Polling.until { news.values.count == number && news.resumptions >= number }
                    )
                }
                #expect(news.values == ["1", "2", "3"])
            }
        }
    }

    @Test func `a thousand changes that were missed are told`() async throws {
        try await RealEtcd.whileRunning { etcd in
            try await etcd.client().whileOpen { client async throws in
                let start = try await client.range(Self.all).header
                for number in 0..<1000 {
                    let changes = (0..<4).map { part in
                        EtcdTransaction.Change.put(
                            key: Array("/tokenagent/\(part)".utf8),
                            value: Array("\(number)".utf8)
                        )
                    }
                    _ = try await client.transact(EtcdTransaction(if: [], then: changes))
                }
                let news = NewsList()
                let watch = EtcdWatch(client, Self.all)
                let following = Task { await watch.follow(after: start) { news.add($0) } }
                defer { following.cancel() }
                #expect(
                    try await Polling.until(within: .seconds(20)) { news.values.count == 4000 },
                    "\(news.failures)"
                )
            }
        }
    }

    @Test func `three thousand keys are read at once`() async throws {
        try await RealEtcd.whileRunning { etcd in
            try await etcd.client().whileOpen { client async throws in
                for hundred in 0..<30 {
                    let changes = (0..<100).map { part in
                        EtcdTransaction.Change.put(
                            key: Array("/tokenagent/\(hundred)/\(part)".utf8),
                            value: [1]
                        )
                    }
                    _ = try await client.transact(EtcdTransaction(if: [], then: changes))
                }
                #expect(try await client.range(Self.all).content.pairs.count == 3000)
            }
        }
    }

    @Test func `a member without a leader ends its watch`() async throws {
        try await RealEtcd.whileRunning(["--nodes", "3"]) { etcd in
            let answer = try JSONValue(parsing: try await etcd.order("leader").utf8)
            let leader = try #require(answer.object?["leader"]?.string)
            let number = leader == "n1" ? 1 : 0
            try await etcd.client(first: number).whileOpen { client async throws in
                let news = NewsList()
                let following = Task { await EtcdWatch(client, Self.all).follow(after: nil) { news.add($0) } }
                defer { following.cancel() }
                #expect(try await Polling.until { news.connections == 1 })
                let other = try etcd.client(first: number + 1)
                try await other.whileOpen { other async throws in
                    try await etcd.order("cut", "n\(number + 1)")
                    // The two that are left may have to elect a leader first, where the machine is busy.
                    let isWritten = try await Polling.until {
                        (try? await other.put("/tokenagent/x", "seen")) != nil
                    }
                    #expect(isWritten)
                    let began = ContinuousClock.now
                    #expect(
                        try await Polling.until(within: .seconds(15)) { Set(news.values) == ["seen"] },
                        "\(news.all)"
                    )
                    Attachment.record("\(ContinuousClock.now - began)", named: "figure")
                }
                try await etcd.order("heal", "n\(number + 1)")
            }
        }
    }

    /// Returns `true` if `failure` is the expected one for `user`, who has no rights, or for a client without a user.
    private static func tells(_ failure: EtcdFailure, user: String?) -> Bool {
        guard user != nil else { return failure.remedy?.text.contains("user") == true }
        if case .denied = failure { return true }
        return false
    }

    @Test func `a reader without rights, and one without a name, are told`() async throws {
        try await RealEtcd.whileRunning(["--tls", "--auth"]) { etcd in
            for (user, keys) in [("reader", "/elsewhere/"), (nil, "/tokenagent/")] {
                try await etcd.client(user: user).whileOpen { client async throws in
                    let news = NewsList()
                    let watch = EtcdWatch(client, EtcdKeyRange(prefix: Array(keys.utf8)))
                    let following = Task { await watch.follow(after: nil) { news.add($0) } }
                    defer { following.cancel() }
                    #expect(try await Polling.until { news.troubles > 0 })
                    let failure = try #require(news.failures.first)
                    #expect(Self.tells(failure, user: user), "\(failure)")
                    do throws(EtcdFailure) {
                        _ = try await client.range(EtcdKeyRange(prefix: Array(keys.utf8)))
                        Issue.record("it is read")
                    } catch {
                        #expect(Self.tells(error, user: user), "\(error)")
                    }
                }
            }
        }
    }

    @Test func `a door that wants our certificate says so`() async throws {
        try await RealEtcd.whileRunning(["--tls", "--auth"]) { etcd in
            for certificate in [nil, "stranger"] {
                try await etcd.client(user: "keeper", certificate: certificate).whileOpen {
                    client async throws in
                    do throws(EtcdFailure) {
                        _ = try await client.range(Self.all)
                        Issue.record("it is let in")
                    } catch {
                        #expect(error.remedy?.text.contains("certificate_file") == true, "\(error)")
                        #expect(!error.mayHaveActed)
                    }
                }
            }
        }
    }
}
