// SPDX-License-Identifier: MIT

/// The three parts of a signed JWT, decoded strictly (RFC 7519 §7.2).
///
/// Nothing is verified.
package struct JWTParts: Equatable, Sendable {
    package let header: JSONObject
    package let claims: JSONObject
    package let signature: [UInt8]
    /// Header and claims in the encoded form that is signed.
    package let signedBytes: [UInt8]

    /// The maximum size in bytes of a token that is decoded.
    package static let limit = 64 << 10

    package init?(_ token: String) {
        let bytes = Array(token.utf8)
        guard bytes.count <= JWTParts.limit else { return nil }
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = JWTParts.object(parts[0]),
            let claims = JWTParts.object(parts[1]),
            let signature = Base64.urlDecoded(parts[2])
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signedBytes = Array(bytes[..<parts[1].endIndex])
    }

    /// Returns the text to sign for a token with `header` and `claims` (RFC 7515 §5.1).
    package static func signedText(_ header: JSONObject, _ claims: JSONObject) -> String {
        [header, claims].map { Base64.urlEncoded(JSONValue.object($0).serialized) }.joined(separator: ".")
    }

    private static func object(_ part: ArraySlice<UInt8>) -> JSONObject? {
        guard let bytes = Base64.urlDecoded(part) else { return nil }
        return try? JSONValue(parsing: bytes, maximumDepth: 16).object
    }
}

extension JSONObject {
    /// Returns a numeric date claim in seconds since 1970, without its fraction.
    ///
    /// - Returns: `nil` if the claim is missing or not a plausible number.
    package func seconds(_ name: String) -> Int64? {
        guard let value = self[name]?.double, value.isFinite, abs(value) < 1e15 else { return nil }
        return Int64(value)
    }

    /// The lifetime `exp` − `iat` in seconds, or `nil` if a claim is missing or `exp` is not later.
    package var wholeLife: Int64? {
        guard let expiry = seconds("exp"), let issued = seconds("iat"), expiry > issued else { return nil }
        return expiry - issued
    }

    /// The audiences in `aud`, which is one string or an array of strings, or `nil` if it is neither.
    package var audiences: [ByteText]? {
        switch self["aud"] {
        case .string(let audience): return [audience.bytewise]
        case .array(let elements):
            let audiences = elements.compactMap { $0.string?.bytewise }
            return audiences.count == elements.count ? audiences : nil
        default: return nil
        }
    }
}
