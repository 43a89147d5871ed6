// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

@testable import EtcdClient

/// Certificates and keys that the settings name.
@Suite struct DoorTests {
    private let authority: [UInt8]
    private let good: EtcdDoor.Identity
    private let other: EtcdDoor.Identity

    init() throws {
        let certificates = try CertificateAuthority()
        func identity() throws -> EtcdDoor.Identity {
            let issued = try certificates.issue()
            return EtcdDoor.Identity(
                certificates: Array(issued.certificatePEM.utf8),
                key: Array(issued.privateKeyPEM.utf8)
            )
        }
        authority = Array(certificates.certificatePEM.utf8)
        (good, other) = (try identity(), try identity())
    }

    private func trouble(with door: EtcdDoor) async throws -> EtcdFailure? {
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
        #expect(try await trouble(with: EtcdDoor(authorities: authority, identity: good)) == nil)
    }

    @Test(arguments: ["", "\n", "-----BEGIN CERTIFICATE-----\n", "a: b\n"])
    func `a file that does not hold what it has to is named`(text: String) async throws {
        let bytes = Array(text.utf8)
        let doors = [
            (EtcdDoor(authorities: bytes), "ca_file"),
            (EtcdDoor(identity: .init(certificates: bytes, key: good.key)), "certificate_file"),
            (EtcdDoor(identity: .init(certificates: good.certificates, key: bytes)), "certificate_key_file"),
        ]
        for (door, setting) in doors {
            let trouble = try #require(try await trouble(with: door))
            #expect(trouble.sentence.contains("what \(setting) names"), "\(trouble)")
            #expect(trouble.remedy?.contains(setting) == true, "\(trouble)")
        }
    }

    @Test func `a key of another certificate is found before anything is sent`() async throws {
        let mixed = EtcdDoor.Identity(certificates: good.certificates, key: other.key)
        let trouble = try await trouble(with: EtcdDoor(authorities: authority, identity: mixed))
        #expect(trouble == .insecure(.otherKey))
    }
}
