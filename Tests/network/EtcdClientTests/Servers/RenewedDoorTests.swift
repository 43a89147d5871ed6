// SPDX-License-Identifier: MIT

import Synchronization
import TestSupport
import Testing

@testable import EtcdClient

/// Certificates that are renewed in their files while a client is in use.
@Suite(.enabled(if: RealEtcd.script.isAvailable)) struct RenewedDoorTests {
    private func failure(of client: EtcdClient) async -> EtcdFailure? {
        do throws(EtcdFailure) {
            _ = try await client.range(EtcdKeyRange(key: [0x61]), within: .seconds(60))
            return nil
        } catch {
            return error
        }
    }

    @Test func `a certificate that is refused is read again, and no call is lost once it is renewed`()
        async throws
    {
        try await RealEtcd.whileRunning(["--tls"]) { etcd in
            let files = Mutex(etcd.door(certificate: "stranger"))
            let reads = Mutex(0)
            var door = files.withLock(\.self)
            let renewed: @Sendable () -> EtcdCredentials? = {
                reads.withLock { $0 += 1 }
                return files.withLock(\.self)
            }
            door.renewed = renewed
            try await EtcdClient(etcd.endpoints, door, on: .testing).whileOpen { client async throws in
                for count in 1...2 {
                    #expect(await failure(of: client) == .insecure(.refusedCertificate))
                    #expect(reads.withLock(\.self) == count)
                }
                // A file that is being written.
                files.withLock { $0.authorities = [0x2D] }
                #expect(await failure(of: client) == .insecure(.refusedCertificate))
                var good = etcd.door()
                good.renewed = renewed
                files.withLock { [good] in $0 = good }
                #expect(await failure(of: client) == nil)
                let count = reads.withLock(\.self)
                #expect(await failure(of: client) == nil)
                #expect(reads.withLock(\.self) == count)
            }
        }
    }

    @Test func `a password that takes longer than who asks first waits is used all the same`() async throws {
        try await RealEtcd.whileRunning(["--auth"]) { etcd in
            let (prints, printing) = AsyncStream<Void>.makeStream()
            let count = Mutex(0)
            var door = etcd.door()
            door.user = EtcdCredentials.User(name: "keeper") { () async throws(EtcdFailure) in
                count.withLock { $0 += 1 }
                for await _ in prints {}
                return Array("keeper-password-1".utf8)
            }
            try await EtcdClient(etcd.endpoints, door, on: .testing).whileOpen { client async throws in
                await #expect(throws: EtcdFailure.self) {
                    try await client.range(EtcdKeyRange(key: [0x61]), within: .seconds(3))
                }
                async let second = client.range(
                    EtcdKeyRange(key: Array("/tokenagent/a".utf8)),
                    within: .seconds(60)
                )
                printing.finish()
                #expect(try await second.content.pairs.isEmpty)
                #expect(count.withLock(\.self) == 1)
            }
        }
    }
}
