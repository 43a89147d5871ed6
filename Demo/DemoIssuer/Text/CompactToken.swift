// SPDX-License-Identifier: MIT

import Text

/// A parsed signed token in the compact form, without any verification (RFC 7515 §3.1).
struct CompactToken {
    let header: JSONObject
    let claims: JSONObject
    /// The signed text.
    let input: String
    let signature: [UInt8]

    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            let signature = Base64.urlDecoded(parts[2].utf8)
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        input = "\(parts[0]).\(parts[1])"
    }

    private static func object(_ part: Substring) -> JSONObject? {
        Base64.urlDecoded(part.utf8).flatMap { try? JSONValue(parsing: $0) }?.object
    }
}
