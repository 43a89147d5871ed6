// SPDX-License-Identifier: MIT

/// The SHA-256 of a SubjectPublicKeyInfo, written `sha256/BASE64` (as in `curl --pinnedpubkey`, RFC 7469
/// §2.4).
package struct CertificatePin: Equatable, Sendable {
    /// The digest of 32 bytes.
    package let digest: [UInt8]

    /// Parses a pin, or returns `nil` if the text is not a pin.
    package init?(_ text: String) {
        guard text.hasPrefix("sha256/"), let digest = Base64.decoded(String(text.dropFirst(7))),
            digest.count == 32
        else { return nil }
        self.digest = digest
    }

    /// Creates the pin of a key with this SHA-256.
    package init(digest: [UInt8]) {
        self.digest = digest
    }
}
