// SPDX-License-Identifier: MIT

import Crypto
import SecretMemory
import ServerSettings
import Text
import TokenCore

/// The assertions that a client sends instead of a secret (RFC 7523 §2.2), a new one for every request.
///
/// - Entry points of this folder: ``ClientAssertions``, ``GrantAssertions`` (instead of a login),
///   ``ClientCertificate``.
/// - May not: keep a private key outside sealed memory for longer than one request.
struct ClientAssertions: Sendable {
    /// The signer of the assertions.
    enum AssertionSigner: Sendable {
        /// A private key, sealed in the format it was read in, and how it signs (`private_key_jwt`).
        case key(SecretID, AssertionKey)
        /// The client secret (`client_secret_jwt`).
        case sharedSecret(SecretID)
        /// An assertion that was signed elsewhere.
        case ready(ExternalAssertion)
    }

    /// The `client_assertion_type` (RFC 7523 §2.2).
    static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    /// The time from `iat` to `exp` in seconds: no longer than one request takes.
    static let lifetime: Int64 = 60
    /// The algorithms for a shared secret (RFC 7518 §3.2), with the one that every server supports first.
    private static let symmetric: [SignatureAlgorithm] = [.hs256, .hs384, .hs512]

    let clientID: String
    let voucher: AssertionSigner
    var audience: AssertionAudience
    /// The server's name, for servers that require it as the audience.
    let issuer: String?
    /// The `token_endpoint_auth_signing_alg_values_supported`, or `nil` if the server does not publish them.
    let listed: [ByteText]?
    /// The reader of the key or secret, which also knows its configuration key.
    let reader: SecretReader

    /// The settings to check when a server rejects an assertion.
    static let rejectionRemedy = Remedy.set(
        "client_id, the key, client_key_id, or client_assertion_audience = \"issuer\""
    )

    /// The secret shared with the server, or `nil` if assertions are signed in another way.
    var sharedSecret: SecretID? {
        if case .sharedSecret(let secret) = voucher { secret } else { nil }
    }

    /// Whether the assertions are signed here.
    var areOurs: Bool { if case .ready = voucher { false } else { true } }

    /// Returns an assertion for one request to `url`.
    ///
    /// The audience is the exact URL of the request, unless the configuration sets another. So a server that
    /// receives an assertion cannot use it at another server (draft-ietf-oauth-rfc7523bis).
    ///
    /// - Parameters:
    ///   - url: The URL that the assertion is sent to.
    ///   - time: The time of issue, by this machine's or the server's clock.
    ///   - tools: The memory with the key, and the means to fetch an assertion that was signed elsewhere.
    /// - Returns: The signed token.
    /// - Throws: `misconfigured` with the error of the key, or `busy` while sealed memory is locked.
    func make(
        for url: EndpointURL,
        at time: WallTime,
        _ tools: ServerDependencies
    ) async throws(RefreshFailure) -> String {
        let audience = try audience(at: url)
        let now = time.secondsSince1970
        var claims: JSONObject = [
            "iss": .string(clientID), "sub": .string(clientID), "aud": .string(audience),
            "jti": .string(RandomText.make()), "iat": .integer(now),
            "exp": .integer(now + ClientAssertions.lifetime),
        ]
        switch voucher {
        case .key(let secret, let form):
            for (name, value) in form.claims { claims[name] = .string(value) }
            var thumbprint: String?
            if let path = form.certificate {
                thumbprint = try await ClientCertificate(path: path, key: reader)
                    .thumbprint(withKeyIn: secret, tools)
            }
            return try sign(claims, with: key(secret, tools.memory), as: form.identifier, thumbprint)
        case .sharedSecret(let secret): return try authenticate(claims, with: secret, tools.memory)
        case .ready(let assertion): return try await assertion.fetch(audience: audience, tools)
        }
    }

    /// Checks the key before anything is sent.
    ///
    /// - Parameter memory: The memory with the key.
    /// - Throws: `misconfigured` with the error of the key, or `busy` while sealed memory is locked.
    func check(_ memory: SealedMemory) throws(RefreshFailure) {
        switch voucher {
        case .key(let secret, _): _ = try algorithm(of: key(secret, memory))
        case .sharedSecret: _ = try symmetricAlgorithm()
        // No check: such an assertion is fetched again before each request.
        case .ready: break
        }
    }

    private func audience(at url: EndpointURL) throws(RefreshFailure) -> String {
        switch audience {
        case .endpoint: return url.description
        case .other(let text): return text
        case .issuer:
            guard let issuer else {
                let message = "client_assertion_audience = \"issuer\" requires an issuer"
                throw RefreshFailure(kind: .misconfigured, message: message)
            }
            return issuer
        }
    }

    private func key(_ secret: SecretID, _ memory: SealedMemory) throws(RefreshFailure) -> SigningKey {
        let text = try memory.text(of: secret)
        return try described { () throws(SigningKey.Problem) in try SigningKey(text) }
    }

    private func algorithm(of key: SigningKey) throws(RefreshFailure) -> SignatureAlgorithm {
        try described { () throws(SigningKey.Problem) in try key.algorithm(among: listed) }
    }

    private func described<Result>(
        _ body: () throws(SigningKey.Problem) -> Result
    ) throws(RefreshFailure) -> Result {
        do throws(SigningKey.Problem) {
            return try body()
        } catch {
            throw error.failure(of: reader)
        }
    }

    private func sign(
        _ claims: JSONObject,
        with key: SigningKey,
        as identifier: String?,
        _ thumbprint: String?
    ) throws(RefreshFailure) -> String {
        let algorithm = try algorithm(of: key)
        do throws(SigningKey.Problem) {
            return try key.token(of: claims, with: algorithm, as: identifier, certificate: thumbprint)
        } catch {
            throw error.failure(of: reader)
        }
    }

    // MARK: A shared secret

    private func symmetricAlgorithm() throws(RefreshFailure) -> SignatureAlgorithm {
        guard let algorithm = SignatureAlgorithm.first(of: ClientAssertions.symmetric, in: listed) else {
            throw RefreshFailure(
                kind: .misconfigured,
                message: "the server does not support assertions signed with a client secret",
                remedy: .set(
                    "client_authentication to \"basic\", or \"private_key_jwt\" with client_key_file"
                )
            )
        }
        return algorithm
    }

    private func authenticate(
        _ claims: JSONObject,
        with secret: SecretID,
        _ memory: SealedMemory
    ) throws(RefreshFailure) -> String {
        let algorithm = try symmetricAlgorithm()
        let text = JWTParts.signedText(["alg": .string(algorithm.rawValue), "typ": "JWT"], claims)
        do {
            let code = try unsafe memory.open(secret) { bytes in
                unsafe algorithm.authenticationCode(of: Array(text.utf8), by: SymmetricKey(data: bytes))
            }
            return text + "." + Base64.urlEncoded(code)
        } catch {
            throw .locked
        }
    }
}

extension SignatureAlgorithm {
    /// Returns the MAC of `text`.
    ///
    /// The algorithm must be symmetric.
    fileprivate func authenticationCode(of text: [UInt8], by key: SymmetricKey) -> [UInt8] {
        switch self {
        case .hs384: Array(HMAC<SHA384>.authenticationCode(for: text, using: key))
        case .hs512: Array(HMAC<SHA512>.authenticationCode(for: text, using: key))
        default: Array(HMAC<SHA256>.authenticationCode(for: text, using: key))
        }
    }
}
