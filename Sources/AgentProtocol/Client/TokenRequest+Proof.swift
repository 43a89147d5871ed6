// SPDX-License-Identifier: MIT

extension TokenRequest {
    /// The request that a token's proof of possession is for (RFC 9449 §4.2).
    package struct Proof: Equatable, Sendable {
        package var url: String
        /// Nil means `GET`.
        package var method: String?
        /// The nonce that the server wants in the proof, if it gave one (RFC 9449 §9).
        package var nonce: String?

        package init(url: String, method: String? = nil, nonce: String? = nil) {
            self.url = url
            self.method = method
            self.nonce = nonce
        }

        /// The parameters for it, in their order.
        var query: [(name: String, value: String)] {
            let optional = [("dpop_method", method), ("dpop_nonce", nonce)]
            return [("dpop_url", url)] + optional.compactMap { name, value in value.map { (name, $0) } }
        }
    }
}
