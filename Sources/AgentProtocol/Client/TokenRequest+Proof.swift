// SPDX-License-Identifier: MIT

extension TokenRequest {
    /// The HTTP request that a token's proof of possession is for (RFC 9449 §4.2).
    package struct ProofTarget: Equatable, Sendable {
        package var url: String
        /// The HTTP method, or `nil` for `GET`.
        package var method: String?
        /// The nonce that the server requires in the proof, if it sent one (RFC 9449 §9).
        package var nonce: String?

        package init(url: String, method: String? = nil, nonce: String? = nil) {
            self.url = url
            self.method = method
            self.nonce = nonce
        }

        /// The query parameters for the proof, in their order.
        var query: [(name: String, value: String)] {
            let optional = [("dpop_method", method), ("dpop_nonce", nonce)]
            return [("dpop_url", url)] + optional.compactMap { name, value in value.map { (name, $0) } }
        }
    }
}
