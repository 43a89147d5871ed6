// SPDX-License-Identifier: MIT

/// A digest of a token's bytes, used to recognize the token if a server issues it again.
package struct TokenFingerprint: Hashable, Sendable {
    /// The size of the digest in bytes.
    package static let byteCount = 32

    package let bytes: [UInt8]

    /// Creates a fingerprint, or `nil` unless there are ``byteCount`` bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == TokenFingerprint.byteCount else { return nil }
        self.bytes = bytes
    }
}

/// The tokens of one login that servers have rejected.
///
/// None is served again, even if the server reissues it.
package struct RejectedTokens: Equatable, Sendable {
    /// The number of newest tokens kept.
    ///
    /// A server has no reason to reissue an older one.
    package static let limit = 32

    /// The fingerprints of the rejected tokens, oldest first.
    package private(set) var fingerprints: [TokenFingerprint] = []

    package init(_ fingerprints: [TokenFingerprint] = []) {
        self.fingerprints = Array(fingerprints.suffix(RejectedTokens.limit))
    }

    package func contains(_ fingerprint: TokenFingerprint) -> Bool { fingerprints.contains(fingerprint) }

    package mutating func add(_ fingerprint: TokenFingerprint) {
        guard !contains(fingerprint) else { return }
        if fingerprints.count == RejectedTokens.limit { fingerprints.removeFirst() }
        fingerprints.append(fingerprint)
    }
}
