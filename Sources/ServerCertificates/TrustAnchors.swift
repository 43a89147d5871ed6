// SPDX-License-Identifier: MIT

import NIOSSL
import Text

/// Certificates that a person has named as those of authorities.
package enum TrustAnchors {
    /// Trust for servers (RFC 5280 §4.2.1.12 `id-kp-serverAuth`), as OpenSSL writes it behind a certificate:
    /// `X509_CERT_AUX ::= SEQUENCE { trust SEQUENCE OF OBJECT IDENTIFIER, … }`.
    private static let trustForServers: [UInt8] = [
        0x30, 0x0C, 0x30, 0x0A, 0x06, 0x08, 0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01,
    ]

    /// The certificates in `pem`, at each of which a chain may end.
    ///
    /// Without more words the TLS library accepts only certificates that have signed themselves; an intermediate one needs
    /// to be marked as trusted.
    package static func read(pem: [UInt8]) throws -> [NIOSSLCertificate] {
        trusting(try NIOSSLCertificate.fromPEMBytes(pem))
    }

    /// `certificates`, each marked as trusted; one that cannot be stays as it is.
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
