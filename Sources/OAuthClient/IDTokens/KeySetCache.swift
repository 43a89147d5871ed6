// SPDX-License-Identifier: MIT

import TokenCore

/// The key set of one issuer, fetched when needed; a signature by no known key asks for at most one fetch a minute.
actor KeySetCache {
    /// Between fetches in vain: tokens with invented keys must not make us hammer the issuer.
    static let pause: Duration = .seconds(60)
    /// A withdrawn key is forgotten after this long.
    static let lifetime: Duration = .seconds(3_600)

    private let trust: ServerTrust
    private let tools: ServerTools
    private var known: (keys: KeySet, url: EndpointURL, at: Instant)?
    /// When a fresh key set last held no key that had signed.
    private var missedAt: Instant?

    init(trust: ServerTrust, tools: ServerTools) {
        self.trust = trust
        self.tools = tools
    }

    /// What the issuer's keys say about a signature.
    enum Verdict: Equatable, Sendable {
        case verified
        /// There are keys that may have made it, and none of them has.
        case refused
        case noKey
    }

    /// Asks the keys that are known, and where none of them made the signature the keys of today: an issuer may have
    /// put another one in place, under the same name or under none (OIDC Core §10.1.1).
    ///
    /// - Parameters:
    ///   - token: its signature alone is looked at.
    ///   - algorithm: as its header says, accepted already.
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
            for key in tried where await algorithm.verify(token, with: key.material) { return .verified }
            guard mayLookAgain else { return tried.isEmpty ? .noKey : .refused }
        }
        let keys = try await fetch(url, publicAddressOnly: publicAddressOnly)
        known = (keys, url, tools.timekeeper.now)
        let found = keys.candidates(identifier: identifier, algorithm: algorithm)
        for key in found where !tried.contains(key) {
            if await algorithm.verify(token, with: key.material) { return .verified }
        }
        missedAt = tools.timekeeper.now
        return found.isEmpty ? .noKey : .refused
    }

    /// A key that is new since the last fetch is found at once; what was in vain is not repeated soon.
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
