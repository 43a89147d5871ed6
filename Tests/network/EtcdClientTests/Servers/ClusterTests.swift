// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text

@testable import EtcdClient

private let isMissing: Comment = "set TOKENAGENT_IDP_DIR to the directory of etcd.py"

/// Three members with TLS, users and rights, which are killed, paused and cut off.
@Suite(.enabled(if: RealEtcd.script.isAvailable, isMissing), .serialized) struct ClusterTests {
    @Test func `the door opens to those who may, and says why it does not`() async throws {
        try await RealEtcd.whileRunning(["--nodes", "3", "--tls", "--auth"]) { etcd in
            try await enter(etcd)
            try await stayOutside(etcd)
            try await loseMembers(etcd)
            try await outliveRestore(etcd)
            try await loseMost(etcd)
        }
    }

    /// A password costs etcd much time, of which a busy machine has little.
    private let timeout = Duration.seconds(60)

    private func enter(_ etcd: RealEtcd) async throws {
        try await etcd.client(user: "keeper").whileOpen { client async throws in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask { try await client.put("/tokenagent/\(number)", "v", within: timeout) }
                }
                try await group.waitForAll()
            }
            // The token is not known any more: a new one is asked for once, and nobody notices.
            try await etcd.order("kill-tokens", "keeper")
            #expect(try await client.value("/tokenagent/0") == "v")
            let status = try await client.status(of: etcd.endpoints[1])
            #expect(status.content.version.hasPrefix("3.4") && status.content.leader != 0)
        }
    }

    private func stayOutside(_ etcd: RealEtcd) async throws {
        func failure(_ client: EtcdClient, _ key: String = "/tokenagent/x") async throws -> EtcdFailure? {
            var found: EtcdFailure?
            try await client.whileOpen { client async throws in
                do throws(EtcdFailure) {
                    let change = EtcdTransaction.Change.put(key: Array(key.utf8), value: [])
                    _ = try await client.transact(EtcdTransaction(if: [], then: [change]), within: timeout)
                } catch {
                    found = error
                }
            }
            return found
        }
        let wrong = try await failure(etcd.client(user: "keeper", password: "guess"))
        #expect(wrong?.remedy?.text.contains("password") == true, "\(String(describing: wrong))")
        for (user, key) in [("reader", "/tokenagent/x"), ("keeper", "/elsewhere")] {
            let denied = try await failure(etcd.client(user: user), key)
            guard case .denied? = denied else {
                Issue.record("\(user): \(String(describing: denied))")
                continue
            }
        }
        let nobody = try await failure(etcd.client())
        #expect(nobody?.remedy?.text.contains("user") == true, "\(String(describing: nobody))")
        let named = try await failure(etcd.client(user: "keeper", certificate: "client_cn"))
        #expect(named?.remedy?.text.contains("CommonName") == true, "\(String(describing: named))")
        for (certificate, distrust) in [(nil, .noCertificate), ("stranger", .refusedCertificate)]
            as [(String?, EtcdTLSError)]
        {
            let refused = try await failure(etcd.client(user: "keeper", certificate: certificate))
            #expect(refused == .insecure(distrust) && refused?.mayHaveActed == false)
        }
        let stranger = try EtcdClient(etcd.endpoints, EtcdCredentials(), on: .testing, first: 0)
        #expect(try await failure(stranger) == .insecure(.unknownAuthority))
        let plain = etcd.endpoints.compactMap { EtcdEndpoint("http" + $0.origin.dropFirst(5)) }
        #expect(try await failure(EtcdClient(plain, EtcdCredentials(), on: .testing)) == .noPlainAnswer)
    }

    /// A token that was given at a later entry than the restored log has is not refused, but not answered either.
    private func outliveRestore(_ etcd: RealEtcd) async throws {
        let backup = etcd.work.path("backup")
        try await etcd.order("snapshot", backup)
        try await etcd.client(user: "keeper").whileOpen { client async throws in
            try await client.put("/tokenagent/0", "later", within: timeout)
            try await etcd.order("restore", backup)
            #expect(try await Polling.until { (try? await client.value("/tokenagent/0")) == "v" })
        }
    }

    /// Each member is asked for itself, by a client that has no token yet and gets none from anybody.
    private func loseMost(_ etcd: RealEtcd) async throws {
        for member in ["n1", "n2"] { try await etcd.order("kill", member) }
        try await etcd.client(user: "keeper").whileOpen { client async throws in
            let isLeaderless = try await Polling.until {
                (try? await client.status(of: etcd.endpoints[2]))?.content.leader == 0
            }
            #expect(isLeaderless)
            for endpoint in etcd.endpoints.prefix(2) {
                await #expect(throws: EtcdFailure.closedPort) { try await client.status(of: endpoint) }
            }
        }
    }

    private func loseMembers(_ etcd: RealEtcd) async throws {
        try await etcd.client(first: 1, user: "keeper").whileOpen { client async throws in
            let news = NewsList()
            let watch = EtcdWatch(
                client,
                EtcdKeyRange(prefix: Array("/tokenagent/".utf8)),
                silence: .seconds(2)
            )
            let following = Task { await watch.follow(after: nil) { news.add($0) } }
            defer { following.cancel() }
            #expect(try await Polling.until { news.connections > 0 })
            for word in ["kill", "pause"] {
                let member = word == "kill" ? "n2" : "n3"
                try await etcd.order(word, member)
                // A read finds another member within its time.
                #expect(try await Polling.until { (try? await client.value("/tokenagent/0")) == "v" })
                #expect(try await Polling.until { (try? await client.put("/tokenagent/0", "v")) != nil })
                try await client.put("/tokenagent/\(word)", word)
                #expect(try await Polling.until { news.values.contains(word) })
                try await etcd.order(word == "kill" ? "up" : "resume", member)
            }
            let answer = try JSONValue(parsing: try await etcd.order("leader").utf8)
            let leader = try #require(answer.object?["leader"]?.string)
            try await etcd.order("kill", leader)
            #expect(try await Polling.until { (try? await client.put("/tokenagent/leader", "new")) != nil })
            #expect(try await Polling.until { news.values.contains("new") })
            try await etcd.order("up", leader)
        }
    }
}
