// SPDX-License-Identifier: MIT

import SealedStore
import TokenCore

/// Decides whether the ID token of an answer is believed.
struct IDTokenVerifier: Sendable {
    var rules: IDTokenRules
    var metadata: ServerMetadata
    var keys: KeySetCache
    var clientSecret: SecretID?
    var tools: ServerTools

    init(
        profile: ServerProfile,
        issuer: String,
        metadata: ServerMetadata,
        keys: KeySetCache,
        clientSecret: SecretID?,
        nonce: String? = nil,
        tools: ServerTools
    ) {
        rules = IDTokenRules(
            issuer: issuer,
            clientID: profile.clientID,
            nonce: nonce,
            algorithms: IDTokenVerifier.algorithms(metadata, hasSecret: clientSecret != nil)
        )
        self.metadata = metadata
        self.keys = keys
        self.clientSecret = clientSecret
        self.tools = tools
    }

    /// What the metadata lists, RS256 when it lists nothing (OIDC Registration §2); MACs only with a secret.
    private static func algorithms(_ metadata: ServerMetadata, hasSecret: Bool) -> Set<SignatureAlgorithm> {
        let listed = metadata.signingAlgorithms.map { Set($0.compactMap(SignatureAlgorithm.init(named:))) }
        return (listed ?? [.rs256]).filter { hasSecret || !$0.isSymmetric }
    }

    /// Checks the ID token of a login completely.
    /// - Returns: its subject.
    func verifyLogin(_ token: String, accessToken: String) async throws(RefreshFailure) -> String {
        do throws(Refusal) {
            let parts = try parse(token)
            try rule { () throws(IDTokenRules.Problem) in
                try rules.checkBinding(parts, accessToken: accessToken)
                try rules.checkTimes(parts, at: tools.timekeeper.wallTime)
            }
            try await verifySignature(parts)
            return parts.claims["sub"]?.string ?? ""
        } catch {
            throw error.failure(kind: .misbehaved)
        }
    }

    /// Checks the ID token of a refresh against the one of the login.
    ///
    /// - Returns: whether to keep it. A token that only our clock contradicts is not kept, and harms nobody; nor
    ///   is one of another `auth_time`, or one whose signature can not be checked now, because its key is not
    ///   there: TLS to the issuer vouches for it (OIDC Core §3.1.3.7 (6)).
    /// - Throws: `identityChanged`.
    func verifyRefresh(
        _ token: String,
        accessToken: String,
        original: String?
    ) async throws(RefreshFailure) -> Bool {
        let original = original.flatMap { JWTParts($0) }
        do throws(Refusal) {
            let parts = try parse(token)
            try rule { () throws(IDTokenRules.Problem) in
                try rules.checkBinding(parts, accessToken: accessToken)
                if let original { try IDTokenRules.checkSame(parts, as: original) }
            }
            try await verifySignature(parts)
            do throws(IDTokenRules.Problem) {
                try rules.checkTimes(parts, at: tools.timekeeper.wallTime)
                return IDTokenRules.isSameAuthentication(parts, as: original)
            } catch {
                return false
            }
        } catch {
            guard case .broken = error else { return false }
            throw error.failure(kind: .identityChanged)
        }
    }

    /// A token that is not believed, or can not be judged now.
    private enum Refusal: Error {
        case broken(IDTokenRules.Problem)
        case undecided(RefreshFailure)

        func failure(kind: FailureClass) -> RefreshFailure {
            switch self {
            case .broken(let problem): RefreshFailure(kind: kind, message: problem.message)
            case .undecided(let failure): failure
            }
        }
    }

    private func parse(_ token: String) throws(Refusal) -> JWTParts {
        guard let parts = JWTParts(token) else { throw .broken(.malformed) }
        return parts
    }

    private func rule<Result>(_ check: () throws(IDTokenRules.Problem) -> Result) throws(Refusal) -> Result {
        do throws(IDTokenRules.Problem) {
            return try check()
        } catch {
            throw .broken(error)
        }
    }

    /// `jku`, `jwk`, `x5u` and `x5c` of the header are never looked at: keys come from the metadata only.
    private func verifySignature(_ token: JWTParts) async throws(Refusal) {
        let algorithm = try rule { () throws(IDTokenRules.Problem) in try rules.algorithm(of: token) }
        guard !algorithm.isSymmetric else { return try await verifyMAC(token, algorithm) }
        guard let url = metadata.keySet else {
            throw .undecided(
                RefreshFailure(kind: .misconfigured, message: "the issuer publishes no jwks_uri")
            )
        }
        let candidates: [KeySet.Key]
        do throws(RefreshFailure) {
            candidates = try await keys.candidates(
                at: url,
                publicAddressOnly: metadata.publicAddressOnly(url),
                identifier: token.header["kid"]?.string,
                algorithm: algorithm
            )
        } catch {
            throw .undecided(error)
        }
        guard !candidates.isEmpty else {
            let message = "the issuer publishes no key that may have signed the ID token"
            throw .undecided(RefreshFailure(kind: .misbehaved, message: message))
        }
        for candidate in candidates where await algorithm.verify(token, with: candidate.material) { return }
        throw .broken(.signature)
    }

    private func verifyMAC(_ token: JWTParts, _ algorithm: SignatureAlgorithm) async throws(Refusal) {
        guard let clientSecret else { throw .broken(.algorithm) }
        var secret: [UInt8]
        do {
            secret = try unsafe tools.vault.open(clientSecret) { unsafe Array($0) }
        } catch {
            throw .undecided(.locked)
        }
        defer { Wiping.wipe(&secret) }
        guard await algorithm.verify(token, secret: secret) else { throw .broken(.signature) }
    }
}
