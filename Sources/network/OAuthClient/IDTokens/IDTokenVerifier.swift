// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// A verifier of the ID token in a response.
///
/// ``IDTokenRules`` checks the claims, and ``KeySetCache`` provides the keys for the signature.
///
/// - Entry points: ``verifyLogin(_:accessToken:)``, ``objection(to:accessToken:original:)``.
/// - May not: take keys from the token, or accept an algorithm that is missing in a list that the server
///   publishes.
struct IDTokenVerifier: Sendable {
    var rules: IDTokenRules
    var metadata: ServerMetadata
    var keys: KeySetCache
    var clientSecret: SecretID?
    var tools: ServerDependencies

    init(
        profile: ServerProfile,
        metadata: ServerMetadata,
        keys: KeySetCache,
        clientSecret: SecretID?,
        nonce: String? = nil,
        tools: ServerDependencies
    ) {
        rules = IDTokenRules(
            issuer: metadata.issuer,
            clientID: profile.client.id,
            nonce: nonce,
            algorithms: IDTokenVerifier.algorithms(metadata, hasSecret: clientSecret != nil),
            maximumAge: nonce == nil ? nil : profile.authorization.maximumAge
        )
        self.metadata = metadata
        self.keys = keys
        self.clientSecret = clientSecret
        self.tools = tools
    }

    /// Returns the algorithms that the metadata list, with MACs only if there is a secret.
    ///
    /// If the metadata list none, the published key decides, so every algorithm with published keys is
    /// accepted. Without a metadata document, every known algorithm is accepted.
    private static func algorithms(_ metadata: ServerMetadata, hasSecret: Bool) -> Set<SignatureAlgorithm> {
        if let listed = metadata.signingAlgorithms {
            return Set(listed.compactMap(SignatureAlgorithm.init(named:))).filter {
                hasSecret || !$0.isSymmetric
            }
        }
        return Set(SignatureAlgorithm.allCases).filter { metadata.isFixed && hasSecret || !$0.isSymmetric }
    }

    /// Verifies the ID token of a login completely.
    ///
    /// - Returns: The user that the token names.
    /// - Throws: The reason the token is rejected.
    func verifyLogin(_ token: String, accessToken: String) async throws(RefreshFailure) -> VerifiedUser {
        do throws(VerificationError) {
            let parts = try parse(token)
            try rule { () throws(IDTokenRules.Problem) in
                try rules.checkBinding(parts, accessToken: accessToken)
                try rules.checkTimes(parts, at: tools.timekeeper.wallTime)
            }
            try await verifySignature(parts)
            return VerifiedUser(parts.claims)
        } catch {
            throw error.failure(kind: .misbehaved)
        }
    }

    /// The user that a validated ID token names.
    struct VerifiedUser {
        var subject: String
        /// A name for display, or `nil` if there is none.
        ///
        /// It is not unique and may change (OIDC Core §5.7).
        var account: String?

        init(_ claims: JSONObject) {
            subject = claims["sub"]?.string ?? ""
            // Some issuers write the boolean as a string.
            let isVerified = claims.stated("email_verified").map { $0 == true || $0 == "true" }
            let mail = isVerified == false ? nil : claims["email"]?.string
            let names = [claims["preferred_username"]?.string, mail]
            account = names.lazy.compactMap(\.self).first { !$0.isEmpty }
        }
    }

    /// Returns whether `token` names the nonce of another authorization request.
    func hasForeignNonce(_ token: String) -> Bool {
        guard let asked = rules.nonce, let given = JWTParts(token)?.claims["nonce"]?.string else {
            return false
        }
        return given.bytewise != asked.bytewise
    }

    /// Returns the reason to reject the ID token of a refresh, or `nil` if it is valid.
    ///
    /// The caller has checked that the token does not name another user than `original`. The reason says
    /// nothing about the session: keys change, clocks differ, and a server that repeats a lost response may
    /// send the ID token of another access token.
    func objection(to token: String, accessToken: String, original: String?) async -> String? {
        do throws(VerificationError) {
            let parts = try parse(token)
            try rule { () throws(IDTokenRules.Problem) in
                try rules.checkBinding(parts, accessToken: accessToken)
                if let original = original.flatMap({ JWTParts($0) }) {
                    try IDTokenRules.checkContinuity(parts, with: original)
                }
                try rules.checkTimes(parts, at: tools.timekeeper.wallTime)
            }
            try await verifySignature(parts)
            return nil
        } catch {
            let failure = error.failure(kind: .misbehaved)
            return failure.remedy.map { "\(failure.message) \($0.parenthesized)" } ?? failure.message
        }
    }

    /// The reason a token is rejected, or cannot be verified now.
    private enum VerificationError: Error {
        case broken(IDTokenRules.Problem)
        case undecided(RefreshFailure)

        func failure(kind: FailureClass) -> RefreshFailure {
            switch self {
            case .broken(let problem):
                RefreshFailure(kind: kind, message: problem.message, remedy: problem.remedy)
            case .undecided(let failure): failure
            }
        }
    }

    private func parse(_ token: String) throws(VerificationError) -> JWTParts {
        try rule { () throws(IDTokenRules.Problem) in try IDTokenRules.parts(token) }
    }

    private func rule<Result>(
        _ check: () throws(IDTokenRules.Problem) -> Result
    ) throws(VerificationError) -> Result {
        do throws(IDTokenRules.Problem) {
            return try check()
        } catch {
            throw .broken(error)
        }
    }

    /// Verifies the signature with keys from the metadata only.
    ///
    /// The header's `jku`, `jwk`, `x5u` and `x5c` are ignored.
    private func verifySignature(_ token: JWTParts) async throws(VerificationError) {
        let algorithm = try rule { () throws(IDTokenRules.Problem) in try rules.algorithm(of: token) }
        guard !algorithm.isSymmetric else { return try verifyMAC(token, algorithm) }
        guard let url = metadata.keySet else {
            // There are no keys, but the token came over TLS directly from its issuer (OIDC Core §3.1.3.7
            // (6)).
            guard !metadata.isFixed else { return }
            throw .undecided(
                RefreshFailure(
                    kind: .misconfigured,
                    message: "the issuer publishes no jwks_uri\(metadata.reason(forLacking: "jwks_uri"))",
                    remedy: .set("jwks_uri to the URL of the issuer's keys")
                )
            )
        }
        let verdict: KeySetCache.Verdict
        do throws(RefreshFailure) {
            verdict = try await keys.verdict(
                on: token,
                algorithm,
                at: url,
                servesTenants: rules.issuer.map(IssuerNameRules.isTemplate) ?? false,
                publicAddressOnly: metadata.publicAddressOnly(url)
            )
        } catch {
            throw .undecided(error)
        }
        switch verdict {
        case .verified: return
        case .refused: throw .broken(.signature(algorithm, key: token.header["kid"]?.string))
        case .noKey:
            let key = IDTokenRules.Problem.named(token.header["kid"]?.string)
            let message =
                "the issuer publishes no key for the ID token's signature (\(algorithm.rawValue), \(key))"
            throw .undecided(RefreshFailure(kind: .misbehaved, message: message))
        }
    }

    private func verifyMAC(_ token: JWTParts, _ algorithm: SignatureAlgorithm) throws(VerificationError) {
        guard let clientSecret else {
            throw .broken(.algorithm(algorithm.rawValue, accepted: rules.algorithms))
        }
        var secret: [UInt8]
        do {
            secret = try unsafe tools.memory.open(clientSecret) { unsafe Array($0) }
        } catch {
            throw .undecided(.locked)
        }
        defer { secret.wipe() }
        guard algorithm.verify(token, secret: secret) else {
            throw .broken(.signature(algorithm, key: token.header["kid"]?.string))
        }
    }
}
