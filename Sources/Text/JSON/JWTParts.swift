// SPDX-License-Identifier: MIT

/// The three parts of a signed JWT, decoded strictly, nothing verified (RFC 7519 §7.2).
package struct JWTParts: Equatable, Sendable {
    package let header: JSONObject
    package let claims: JSONObject
    package let signature: [UInt8]
    /// Header and claims as they were signed.
    package let signedBytes: [UInt8]

    /// Bytes of the largest token that is taken apart.
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

    /// What is signed of a token with `header` and `claims` (RFC 7515 §5.1).
    package static func signedText(_ header: JSONObject, _ claims: JSONObject) -> String {
        [header, claims].map { Base64.urlEncoded(JSONValue.object($0).serialized) }.joined(separator: ".")
    }

    private static func object(_ part: ArraySlice<UInt8>) -> JSONObject? {
        guard let bytes = Base64.urlDecoded(part) else { return nil }
        return try? JSONValue(parsing: bytes, maximumDepth: 16).object
    }
}

extension JSONObject {
    /// A numeric date claim, in seconds since 1970, fractions dropped.
    package func seconds(_ name: String) -> Int64? {
        guard let value = self[name]?.double, value.isFinite, abs(value) < 1e15 else { return nil }
        return Int64(value)
    }

    /// `exp` − `iat` in seconds, where both are there and make sense.
    package var wholeLife: Int64? {
        guard let expiry = seconds("exp"), let issued = seconds("iat"), expiry > issued else { return nil }
        return expiry - issued
    }

    /// `aud` is one string or an array of them.
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
