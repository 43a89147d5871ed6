// SPDX-License-Identifier: MIT

import Crypto
import FoundationEssentials
import SwiftASN1
import Text
import X509

/// A private CA that exists for the duration of a test or demonstration.
package struct CertificateAuthority: Sendable {
    private let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    private let name: DistinguishedName
    private let identifier: SubjectKeyIdentifier

    /// The CA's own certificate as PEM, for `ca_file`.
    package let certificatePEM: String

    /// Creates a self-signed CA.
    package init(name: String = "tokenagent demonstration CA") throws {
        try self.init(name, signedBy: nil)
    }

    /// Returns a CA that may certify only the IPv4 addresses of one network (RFC 5280 §4.2.1.10).
    package static func permitting(address: [UInt8], mask: [UInt8]) throws -> CertificateAuthority {
        let network = ASN1OctetString(contentBytes: (address + mask)[...])
        let constraints = NameConstraints(permittedIPRanges: [network])
        return try CertificateAuthority("limited CA", signedBy: nil, constraints: constraints)
    }

    /// Returns a CA with a certificate signed by this one.
    package func intermediate(name: String) throws -> CertificateAuthority {
        try CertificateAuthority(name, signedBy: self)
    }

    private init(
        _ name: String,
        signedBy issuer: CertificateAuthority?,
        constraints: NameConstraints? = nil
    ) throws {
        let name = try DistinguishedName { CommonName(name) }
        let identifier = SubjectKeyIdentifier(hash: key.publicKey)
        let now = Date()
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: key.publicKey,
            notValidBefore: now.addingTimeInterval(-3600),
            notValidAfter: now.addingTimeInterval(30 * 86_400),
            issuer: issuer?.name ?? name,
            subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                identifier
                if let constraints { Critical(constraints) }
            },
            issuerPrivateKey: issuer?.key ?? key
        )
        self.name = name
        self.identifier = identifier
        certificatePEM = try certificate.serializeAsPEM().pemString
    }

    /// Certifies a new key for the DNS names and IPv4 addresses in `names`.
    ///
    /// The first name is also the common name. `validity` is relative to now.
    package func issue(
        for names: [String] = ["127.0.0.1", "localhost"],
        validity: ClosedRange<Duration> = .seconds(-3600)...(.seconds(7 * 86_400)),
        isForServers: Bool = true
    ) throws -> TLSIdentity {
        let leafKey = P256.Signing.PrivateKey()
        let publicKey = Certificate.PublicKey(leafKey.publicKey)
        let now = Date()
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: publicKey,
            notValidBefore: now.addingTimeInterval(TimeInterval(validity.lowerBound.components.seconds)),
            notValidAfter: now.addingTimeInterval(TimeInterval(validity.upperBound.components.seconds)),
            issuer: name,
            subject: DistinguishedName { CommonName(names.first ?? "localhost") },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                SubjectAlternativeNames(names.map(CertificateAuthority.generalName))
                try ExtendedKeyUsage(isForServers ? [.serverAuth, .clientAuth] : [.clientAuth])
                SubjectKeyIdentifier(hash: publicKey)
                AuthorityKeyIdentifier(keyIdentifier: identifier.keyIdentifier)
            },
            issuerPrivateKey: key
        )
        return TLSIdentity(
            certificatePEM: try certificate.serializeAsPEM().pemString,
            privateKeyPEM: leafKey.pemRepresentation,
            publicKeyHash: Base64.encoded(SHA256.hash(data: leafKey.publicKey.derRepresentation))
        )
    }

    private static func generalName(_ name: String) -> GeneralName {
        let numbers = name.split(separator: ".").compactMap { UInt8($0) }
        return numbers.count == 4
            ? .ipAddress(ASN1OctetString(contentBytes: numbers[...])) : .dnsName(name)
    }
}
