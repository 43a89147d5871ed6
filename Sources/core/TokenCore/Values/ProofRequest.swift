// SPDX-License-Identifier: MIT

/// A request that will carry a token and a proof that its sender holds the token's key (RFC 9449 §7).
package struct ProofRequest: Equatable, Sendable {
    /// The HTTP method of the request (RFC 9449 §4.2 `htm`).
    package var method: String
    /// The URL of the request without query and fragment (RFC 9449 §4.2 `htu`).
    package var target: String
    /// The server's latest value of `DPoP-Nonce`.
    package var nonce: String?

    package init(method: String, target: String, nonce: String? = nil) {
        self.method = method
        self.target = target
        self.nonce = nonce
    }

    /// Returns whether `text` can be a nonce: `NQCHAR` (RFC 9449 §8.1), with at most 512 bytes.
    package static func isNonce(_ text: String) -> Bool {
        (1...512).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    }
}
