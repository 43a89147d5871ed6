// SPDX-License-Identifier: MIT

import Crypto
import NIOSSL
import Text

/// The SHA-256 of a SubjectPublicKeyInfo, written `sha256/BASE64` (as `curl --pinnedpubkey`, RFC 7469 §2.4).
package struct CertificatePin: Equatable, Sendable {
    /// 32 bytes.
    package let digest: [UInt8]

    /// Reads a pin as it is written; `nil`: it is none.
    package init?(_ text: String) {
        guard text.hasPrefix("sha256/"), let digest = Base64.decoded(String(text.dropFirst(7))),
            digest.count == 32
        else { return nil }
        self.digest = digest
    }

    /// The pin of the key in `certificate`.
    package init(of certificate: NIOSSLCertificate) throws {
        digest = Array(SHA256.hash(data: try certificate.extractPublicKey().toSPKIBytes()))
    }
}
