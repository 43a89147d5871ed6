// SPDX-License-Identifier: MIT

import DemoIssuer
import ServerSettings
import TestSupport
import Testing

@testable import EtcdClient

/// Which member a certificate proves to be there.
@Suite struct MemberIdentityTests {
    @Test(
        .holds("82"),
        arguments: [
            ("localhost", ["127.0.0.1"], false), ("localhost", ["localhost"], true),
            ("127.0.0.1", ["127.0.0.1"], true),
        ]
    )
    func `a certificate for the address that a name leads to gets no call`(
        host: String,
        names: [String],
        isReached: Bool
    ) async throws {
        let authority = try CertificateAuthority()
        var options = DemoIssuer.Options()
        options.tls = try authority.issue(for: names)
        // Not an etcd, but it notes what it is asked.
        let member = try await DemoIssuer.start(options)
        let endpoint = try #require(EtcdEndpoint("https://\(host):\(member.port)"))
        let door = EtcdCredentials(authorities: Array(authority.certificatePEM.utf8))
        try await EtcdClient([endpoint], door, on: .testing).whileOpen { client async throws in
            let failure = await #expect(throws: EtcdFailure.self) {
                _ = try await client.range(EtcdKeyRange(key: [0x61]), within: .seconds(60))
            }
            #expect((failure == .insecure(.otherHost)) == !isReached, "\(String(describing: failure))")
        }
        #expect(member.requests().isEmpty != isReached)
    }
}
