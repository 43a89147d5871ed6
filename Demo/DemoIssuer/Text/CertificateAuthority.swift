// SPDX-License-Identifier: MIT

import Crypto
import Text

/// A private certification authority that lives as long as its test or demonstration.
package struct CertificateAuthority: Sendable {
    private let key = P256.Signing.PrivateKey()
    private let name: String

    /// The authority's own certificate, for `ca_file`.
    package let certificatePEM: String

    package init(name: String = "tokenagent demonstration CA") throws {
        self.name = name
        let now = WallClock.seconds
        let extensions = [
            CertificateExtension.authority, CertificateExtension.signsCertificates,
            CertificateExtension.subjectKey(key.publicKey),
        ]
        let certificate = try CertificateAuthority.certificate(
            subject: name,
            subjectKey: key.publicKey,
            issuer: name,
            issuerKey: key,
            validity: now - 3600...now + 30 * 86_400,
            extensions: extensions
        )
        certificatePEM = PEM.encode(certificate, label: "CERTIFICATE")
    }

    /// Certifies a fresh key for the DNS names and IPv4 addresses in `names`.
    ///
    /// The first name is the common name too. `validity` is counted from now.
    package func issue(
        for names: [String] = ["127.0.0.1", "localhost"],
        validity: ClosedRange<Duration> = .seconds(-3600)...(.seconds(7 * 86_400))
    ) throws -> TLSIdentity {
        let leafKey = P256.Signing.PrivateKey()
        let now = WallClock.seconds
        let certificate = try CertificateAuthority.certificate(
            subject: names.first ?? "localhost",
            subjectKey: leafKey.publicKey,
            issuer: name,
            issuerKey: key,
            validity: now + validity.lowerBound.components.seconds...now
                + validity.upperBound.components.seconds,
            extensions: [
                CertificateExtension.alternativeNames(names), CertificateExtension.authenticatesServers,
                CertificateExtension.subjectKey(leafKey.publicKey),
                CertificateExtension.authorityKey(key.publicKey),
            ]
        )
        return TLSIdentity(
            certificatePEM: PEM.encode(certificate, label: "CERTIFICATE"),
            privateKeyPEM: leafKey.pemRepresentation,
            publicKeyHash: Base64.encoded(SHA256.hash(data: leafKey.publicKey.derRepresentation))
        )
    }

    private static func certificate(
        subject: String,
        subjectKey: P256.Signing.PublicKey,
        issuer: String,
        issuerKey: P256.Signing.PrivateKey,
        validity: ClosedRange<Int64>,
        extensions: [[UInt8]]
    ) throws -> [UInt8] {
        // ecdsa-with-SHA256 (RFC 5758 §3.2).
        let algorithm = DER.sequence(DER.identifier([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]))
        let serial = [0x40] + (0..<8).map { _ in UInt8.random(in: 0...255) }
        let body = DER.sequence(
            DER.tagged(0, DER.integer([2])),
            DER.integer(serial),
            algorithm,
            distinguishedName(issuer),
            DER.sequence(DER.time(validity.lowerBound), DER.time(validity.upperBound)),
            distinguishedName(subject),
            Array(subjectKey.derRepresentation),
            DER.tagged(3, DER.sequence(extensions.flatMap(\.self)))
        )
        let signature = try issuerKey.signature(for: body).derRepresentation
        return DER.sequence(body, algorithm, DER.bits(Array(signature)))
    }

    private static func distinguishedName(_ commonName: String) -> [UInt8] {
        DER.sequence(DER.set(DER.sequence(DER.identifier([0x55, 0x04, 0x03]), DER.text(commonName))))
    }
}

/// The extensions our certificates carry (RFC 5280 §4.2.1).
private enum CertificateExtension {
    static let authority = make(19, critical: true, DER.sequence(DER.boolean(true)))
    static let signsCertificates = make(15, critical: true, DER.bits([0x06], unused: 1))
    /// id-kp-serverAuth.
    static let authenticatesServers = make(
        37,
        DER.sequence(DER.identifier([0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01]))
    )

    static func subjectKey(_ key: P256.Signing.PublicKey) -> [UInt8] {
        make(14, DER.octets(keyIdentifier(key)))
    }

    static func authorityKey(_ key: P256.Signing.PublicKey) -> [UInt8] {
        make(35, DER.sequence(DER.tagged(0, constructed: false, keyIdentifier(key))))
    }

    static func alternativeNames(_ names: [String]) -> [UInt8] {
        let entries = names.map { name in
            let numbers = name.split(separator: ".").compactMap { UInt8($0) }
            return numbers.count == 4
                ? DER.tagged(7, constructed: false, numbers)
                : DER.tagged(2, constructed: false, Array(name.utf8))
        }
        return make(17, DER.sequence(entries.flatMap(\.self)))
    }

    private static func make(_ number: UInt8, critical: Bool = false, _ value: [UInt8]) -> [UInt8] {
        DER.sequence(
            DER.identifier([0x55, 0x1D, number]),
            critical ? DER.boolean(true) : [],
            DER.octets(value)
        )
    }

    private static func keyIdentifier(_ key: P256.Signing.PublicKey) -> [UInt8] {
        Array(SHA256.hash(data: key.x963Representation).prefix(20))
    }
}

/// Textual encoding of DER (RFC 7468).
enum PEM {
    static func encode(_ bytes: [UInt8], label: String) -> String {
        var text = "-----BEGIN \(label)-----\n"
        var rest = Base64.encoded(bytes)[...]
        while !rest.isEmpty {
            text += "\(rest.prefix(64))\n"
            rest = rest.dropFirst(64)
        }
        return text + "-----END \(label)-----\n"
    }
}
