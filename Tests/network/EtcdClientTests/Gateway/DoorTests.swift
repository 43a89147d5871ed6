// SPDX-License-Identifier: MIT

import DemoIssuer
import ServerSettings
import TestSupport
import Testing

@testable import EtcdClient

/// Certificates and keys that the settings name.
@Suite struct DoorTests {
    private let authority: [UInt8]
    private let good: EtcdCredentials.CertificateAndKey
    private let other: EtcdCredentials.CertificateAndKey

    init() throws {
        let certificates = try CertificateAuthority()
        func identity() throws -> EtcdCredentials.CertificateAndKey {
            let issued = try certificates.issue()
            return EtcdCredentials.CertificateAndKey(
                certificates: Array(issued.certificatePEM.utf8),
                key: Array(issued.privateKeyPEM.utf8)
            )
        }
        authority = Array(certificates.certificatePEM.utf8)
        (good, other) = (try identity(), try identity())
    }

    private func failure(with door: EtcdCredentials) async throws -> EtcdFailure? {
        let endpoint = try #require(EtcdEndpoint("https://127.0.0.1:1"))
        do throws(EtcdFailure) {
            let client = try EtcdClient([endpoint], door, on: .testing)
            await client.shutDown()
            return nil
        } catch {
            return error
        }
    }

    @Test func `a certificate with its key opens`() async throws {
        #expect(try await failure(with: EtcdCredentials(authorities: authority, identity: good)) == nil)
    }

    @Test(arguments: ["", "\n", "-----BEGIN CERTIFICATE-----\n", "a: b\n"])
    func `a file that does not hold what it has to is named`(text: String) async throws {
        let bytes = Array(text.utf8)
        let doors = [
            (EtcdCredentials(authorities: bytes), "ca_file"),
            (EtcdCredentials(identity: .init(certificates: bytes, key: good.key)), "certificate_file"),
            (
                EtcdCredentials(identity: .init(certificates: good.certificates, key: bytes)),
                "certificate_key_file"
            ),
        ]
        for (door, setting) in doors {
            let failure = try #require(try await failure(with: door))
            #expect(failure.sentence.contains("the file in \(setting) has no"), "\(failure)")
            #expect(failure.remedy?.text.contains(setting) == true, "\(failure)")
        }
    }

    @Test func `a key of another certificate is found before anything is sent`() async throws {
        let mixed = EtcdCredentials.CertificateAndKey(certificates: good.certificates, key: other.key)
        let failure = try await failure(with: EtcdCredentials(authorities: authority, identity: mixed))
        #expect(failure == .insecure(.otherKey))
    }
}
