// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// A cache of the key set of one issuer, fetched when needed.
///
/// A signature by an unknown key causes at most one fetch a minute.
actor KeySetCache {
    /// The minimum time between fetches without success.
    ///
    /// Tokens with invented keys must not cause load at the issuer.
    static let delay: Duration = .seconds(60)
    /// The time after which a withdrawn key is no longer used.
    static let lifetime: Duration = .seconds(3_600)

    private let trust: ServerTrust
    private let tools: ServerDependencies
    private var known: (keys: KeySet, url: EndpointURL, at: Instant)?
    /// The last time that a newly fetched key set did not contain the signing key.
    private var missedAt: Instant?

    init(trust: ServerTrust, tools: ServerDependencies) {
        self.trust = trust
        self.tools = tools
    }

    /// The result of verifying a signature.
    enum Verdict: Equatable, Sendable {
        case verified
        /// Some keys could have made the signature, but none did.
        case refused
        case noKey
    }

    /// Tries the cached keys, and then the keys published now if none of the cached ones made the signature.
    ///
    /// An issuer may have replaced a key under the same name or without a name (OIDC Core §10.1.1).
    ///
    /// - Parameters:
    ///   - token: The token, of which only the signature is verified.
    ///   - algorithm: The algorithm in the header, already accepted.
    ///   - url: The URL of the key set.
    ///   - servesTenants: Whether the issuer is a template, so that a key may be for one tenant only.
    ///   - publicAddressOnly: See ``OutgoingRequest/publicAddressOnly``.
    /// - Returns: The result.
    /// - Throws: The reason the key set cannot be fetched.
    func verdict(
        on token: JWTParts,
        _ algorithm: SignatureAlgorithm,
        at url: EndpointURL,
        servesTenants: Bool = false,
        publicAddressOnly: Bool
    ) async throws(RefreshFailure) -> Verdict {
        func candidates(_ keys: KeySet) -> [KeySet.Key] {
            keys.candidates(identifier: token.header["kid"]?.string, algorithm: algorithm)
                .filter { !servesTenants || $0.isForIssuer(of: token) }
        }
        var tried: [KeySet.Key] = []
        if let known, known.url == url, tools.timekeeper.now - known.at < KeySetCache.lifetime {
            tried = candidates(known.keys)
            for key in tried where algorithm.verify(token, with: key.material) { return .verified }
            guard mayLookAgain else { return tried.isEmpty ? .noKey : .refused }
        }
        let keys = try await fetch(url, publicAddressOnly: publicAddressOnly)
        known = (keys, url, tools.timekeeper.now)
        let found = candidates(keys)
        for key in found where !tried.contains(key) {
            if algorithm.verify(token, with: key.material) { return .verified }
        }
        missedAt = tools.timekeeper.now
        return found.isEmpty ? .noKey : .refused
    }

    /// Whether the keys may be fetched again: always, except in the minute after a fetch without success.
    private var mayLookAgain: Bool {
        missedAt.map { tools.timekeeper.now - $0 >= KeySetCache.delay } ?? true
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
