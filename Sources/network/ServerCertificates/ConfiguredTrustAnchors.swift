// SPDX-License-Identifier: MIT

import NIOSSL
import Text

/// CA certificates that the user has configured.
package enum ConfiguredTrustAnchors {
    /// The trust for servers (RFC 5280 §4.2.1.12 `id-kp-serverAuth`), as OpenSSL appends it to a certificate:
    /// `X509_CERT_AUX ::= SEQUENCE { trust SEQUENCE OF OBJECT IDENTIFIER, … }`.
    private static let trustForServers: [UInt8] = [
        0x30, 0x0C, 0x30, 0x0A, 0x06, 0x08, 0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01,
    ]

    /// Parses the certificates in `pem`, each of which can end a chain.
    ///
    /// By default the TLS library accepts only self-signed certificates as the end of a chain. An
    /// intermediate one must be marked as trusted.
    package static func read(pem: [UInt8]) throws -> [NIOSSLCertificate] {
        trusting(try NIOSSLCertificate.fromPEMBytes(pem))
    }

    /// Marks each of `certificates` as trusted.
    ///
    /// A certificate that cannot be marked is returned unchanged.
    package static func trusting(_ certificates: [NIOSSLCertificate]) -> [NIOSSLCertificate] {
        certificates.map { (try? marked($0)) ?? $0 }
    }

    private static func marked(_ certificate: NIOSSLCertificate) throws -> NIOSSLCertificate? {
        let base64 = Base64.encoded(try certificate.toDERBytes() + trustForServers)
        let lines = stride(from: 0, to: base64.utf8.count, by: 64).map { start in
            String(decoding: Array(base64.utf8.dropFirst(start).prefix(64)), as: UTF8.self)
        }
        let text =
            ["-----BEGIN TRUSTED CERTIFICATE-----"] + lines + ["-----END TRUSTED CERTIFICATE-----", ""]
        return try NIOSSLCertificate.fromPEMBytes(Array(text.joined(separator: "\n").utf8)).first
    }
}
