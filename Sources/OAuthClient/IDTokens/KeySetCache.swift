// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The key set of one issuer, fetched when needed; a signature that no known key made causes at most one
/// fetch a minute.
actor KeySetCache {
    /// Between fetches in vain: tokens with invented keys must not make us hammer the issuer.
    static let pause: Duration = .seconds(60)
    /// A withdrawn key is forgotten after this long.
    static let lifetime: Duration = .seconds(3_600)

    private let trust: ServerTrust
    private let tools: ServerDependencies
    private var known: (keys: KeySet, url: EndpointURL, at: Instant)?
    /// When a fresh key set last lacked the key that had signed.
    private var missedAt: Instant?

    init(trust: ServerTrust, tools: ServerDependencies) {
        self.trust = trust
        self.tools = tools
    }

    /// What the issuer's keys say about a signature.
    enum Verdict: Equatable, Sendable {
        case verified
        /// Some keys could have made it, but none of them did.
        case refused
        case noKey
    }

    /// Tries the keys that are known, and then, if none of them made the signature, the keys published now.
    ///
    /// An issuer may have replaced a key under the same name or under none (OIDC Core §10.1.1).
    ///
    /// - Parameters:
    ///   - token: only its signature is checked.
    ///   - algorithm: the one in its header, already accepted.
    ///   - url: of the key set.
    ///   - publicAddressOnly: see ``OutgoingRequest/publicAddressOnly``.
    /// - Returns: what the keys say.
    /// - Throws: why the key set cannot be had.
    func verdict(
        on token: JWTParts,
        _ algorithm: SignatureAlgorithm,
        at url: EndpointURL,
        publicAddressOnly: Bool
    ) async throws(RefreshFailure) -> Verdict {
        let identifier = token.header["kid"]?.string
        var tried: [KeySet.Key] = []
        if let known, known.url == url, tools.timekeeper.now - known.at < KeySetCache.lifetime {
            tried = known.keys.candidates(identifier: identifier, algorithm: algorithm)
            for key in tried where algorithm.verify(token, with: key.material) { return .verified }
            guard mayLookAgain else { return tried.isEmpty ? .noKey : .refused }
        }
        let keys = try await fetch(url, publicAddressOnly: publicAddressOnly)
        known = (keys, url, tools.timekeeper.now)
        let found = keys.candidates(identifier: identifier, algorithm: algorithm)
        for key in found where !tried.contains(key) {
            if algorithm.verify(token, with: key.material) { return .verified }
        }
        missedAt = tools.timekeeper.now
        return found.isEmpty ? .noKey : .refused
    }

    /// Whether the keys may be fetched again: always, except in the minute after a fetch in vain.
    private var mayLookAgain: Bool {
        missedAt.map { tools.timekeeper.now - $0 >= KeySetCache.pause } ?? true
    }

    private func fetch(_ url: EndpointURL, publicAddressOnly: Bool) async throws(RefreshFailure) -> KeySet {
        let (object, _, _) = try await JSONFetch.get(
            url.description,
            trust: trust,
            publicAddressOnly: publicAddressOnly,
            tools: tools
        )
        guard let keys = KeySet(object) else {
            throw RefreshFailure(kind: .misbehaved, message: "\(url.description): no usable key set")
        }
        return keys
    }
}
