// SPDX-License-Identifier: MIT

import TokenCore

/// The key set of one issuer, fetched when needed; an unknown key asks for at most one fetch a minute.
actor KeySetCache {
    /// Between fetches in vain for keys we do not know: tokens with invented `kid`s must not make us hammer the issuer.
    static let pause: Duration = .seconds(60)
    /// A withdrawn key is forgotten after this long.
    static let lifetime: Duration = .seconds(3_600)

    private let trust: ServerTrust
    private let tools: ServerTools
    private var known: (keys: KeySet, url: EndpointURL, at: Instant)?
    /// When a fresh key set last held no fitting key.
    private var missedAt: Instant?

    init(trust: ServerTrust, tools: ServerTools) {
        self.trust = trust
        self.tools = tools
    }

    /// Keys that may have signed with `identifier`; empty when the issuer has no such key.
    /// - Throws: why the key set can not be had.
    func candidates(
        at url: EndpointURL,
        publicAddressOnly: Bool,
        identifier: String?,
        algorithm: SignatureAlgorithm
    ) async throws(RefreshFailure) -> [KeySet.Key] {
        if let known, known.url == url, tools.timekeeper.now - known.at < KeySetCache.lifetime {
            let found = known.keys.candidates(identifier: identifier, algorithm: algorithm)
            guard found.isEmpty, mayLookAgain else { return found }
        }
        let keys = try await fetch(url, publicAddressOnly: publicAddressOnly)
        known = (keys, url, tools.timekeeper.now)
        let found = keys.candidates(identifier: identifier, algorithm: algorithm)
        if found.isEmpty { missedAt = tools.timekeeper.now }
        return found
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
