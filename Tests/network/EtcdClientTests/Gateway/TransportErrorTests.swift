// SPDX-License-Identifier: MIT

import ServerSettings
import Testing

@testable import EtcdClient

/// The conversion of errors of the HTTP library.
@Suite struct TransportErrorTests {
    private static func handshake(_ words: String, endingAt end: Int? = .max) -> EtcdFailure? {
        TransportErrors(isSecure: true, certificateEnds: end).handshake(words)
    }

    @Test(
        arguments: [
            ("CERTIFICATE_VERIFY_FAILED", .unknownAuthority, "ca_file"),
            ("TLSV1_ALERT_CERTIFICATE_REQUIRED", .noCertificate, "certificate_key_file"),
            ("SSLV3_ALERT_BAD_CERTIFICATE", .refusedCertificate, "trusted-ca-file"),
            ("TLSV1_ALERT_UNKNOWN_CA", .refusedCertificate, "trusted-ca-file"),
            ("SSLV3_ALERT_CERTIFICATE_EXPIRED", .expiredCertificate, "renew"),
        ] as [(String, EtcdTLSError, String)]
    )
    func `each mistake with certificates has its own remedy`(
        words: String,
        distrust: EtcdTLSError,
        remedy: String
    ) {
        let failure = Self.handshake("error:1000007d:SSL routines:OPENSSL_internal:\(words)")
        #expect(failure == .insecure(distrust))
        #expect(failure?.remedy?.text.contains(remedy) == true && failure?.mayHaveActed == false)
    }

    @Test func `a member calls a missing certificate a bad one`() {
        let failure = Self.handshake("SSLV3_ALERT_BAD_CERTIFICATE", endingAt: nil)
        #expect(failure == .insecure(.noCertificate))
    }

    @Test func `a certificate that has ended is said to have, whatever a member calls it`() {
        let failure = Self.handshake("SSLV3_ALERT_BAD_CERTIFICATE", endingAt: 1_000)
        #expect(failure == .insecure(.expiredCertificate))
    }

    @Test func `what is not about certificates is no distrust`() {
        #expect(Self.handshake("WRONG_VERSION_NUMBER") == nil)
    }

    @Test(arguments: ["http://127.0.0.1:1", "https://127.0.0.1:1", "https://localhost:1"])
    func `a port at which nobody listens is said to be one`(address: String) async throws {
        let endpoint = try #require(EtcdEndpoint(address))
        try await EtcdClient([endpoint], EtcdCredentials(), on: .testing).whileOpen { client async throws in
            await #expect(throws: EtcdFailure.closedPort) {
                _ = try await client.range(EtcdKeyRange(key: [0x61]), within: .seconds(60))
            }
        }
        #expect(EtcdFailure.closedPort.remedy?.text.contains("endpoints") == true)
    }

    @Test func `a host name that leads nowhere is said to be one`() async throws {
        // No name service is asked for a label that is too long.
        let endpoint = try #require(EtcdEndpoint("https://\(String(repeating: "a", count: 64)).invalid"))
        try await EtcdClient([endpoint], EtcdCredentials(), on: .testing).whileOpen { client async throws in
            await #expect(throws: EtcdFailure.unknownHost) {
                _ = try await client.range(EtcdKeyRange(key: [0x61]), within: .seconds(60))
            }
        }
        #expect(EtcdFailure.unknownHost.remedy?.text.contains("endpoints") == true)
    }
}
