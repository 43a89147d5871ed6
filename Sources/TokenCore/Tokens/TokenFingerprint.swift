// SPDX-License-Identifier: MIT

/// A digest of a token's bytes, by which it is recognized when a server gives it out again.
package struct TokenFingerprint: Hashable, Sendable {
    package static let byteCount = 32

    package let bytes: [UInt8]

    /// `nil` unless there are ``byteCount`` bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == TokenFingerprint.byteCount else { return nil }
        self.bytes = bytes
    }
}

/// The tokens of one login that servers have refused: none of them is served again, even if it comes again.
package struct RefusedTokens: Equatable, Sendable {
    /// How many are kept, the newest: a server has no reason to give out an older one.
    package static let limit = 32

    /// The oldest first.
    package private(set) var fingerprints: [TokenFingerprint] = []

    package init(_ fingerprints: [TokenFingerprint] = []) {
        self.fingerprints = Array(fingerprints.suffix(RefusedTokens.limit))
    }

    package func contains(_ fingerprint: TokenFingerprint) -> Bool { fingerprints.contains(fingerprint) }

    package mutating func add(_ fingerprint: TokenFingerprint) {
        guard !contains(fingerprint) else { return }
        if fingerprints.count == RefusedTokens.limit { fingerprints.removeFirst() }
        fingerprints.append(fingerprint)
    }
}
