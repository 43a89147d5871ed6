// SPDX-License-Identifier: MIT

import Crypto
import SealedStore
import Text
import TokenCore

/// What a client shows in place of a secret (RFC 7523 §2.2), made anew for every request.
struct ClientAssertions: Sendable {
    /// What vouches for the client.
    enum AssertionSigner: Sendable {
        /// A private key, sealed as it was read, which signs as `identifier` (`private_key_jwt`).
        case key(SecretID, identifier: String?)
        /// The client secret (`client_secret_jwt`).
        case sharedSecret(SecretID)
        /// Somebody else, who has signed.
        case ready(ExternalAssertion)
    }

    /// `client_assertion_type` (RFC 7523 §2.2).
    static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    /// From `iat` to `exp`: no longer than one request takes.
    static let lifetime: Int64 = 60
    /// How a shared secret signs (RFC 7518 §3.2), the one that every server knows first.
    private static let symmetric: [SignatureAlgorithm] = [.hs256, .hs384, .hs512]

    let clientID: String
    let voucher: AssertionSigner
    var audience: AssertionAudience
    /// The server's name, for servers that want it as audience.
    let issuer: String?
    /// `token_endpoint_auth_signing_alg_values_supported`; `nil`: the server does not say.
    let listed: [ByteText]?
    /// Reads what vouches, and knows what it is called.
    let reader: SecretReader

    /// What to check when a server refuses an assertion.
    static let hint =
        "check client_id, the key, client_key_id and this machine's clock, and whether the server wants its issuer as "
        + "audience: client_assertion_audience = \"issuer\""

    /// The secret that the server knows too.
    var sharedSecret: SecretID? {
        if case .sharedSecret(let secret) = voucher { secret } else { nil }
    }

    /// Whether they are signed here.
    var areOurs: Bool { if case .ready = voucher { false } else { true } }

    /// An assertion for one request to `url`.
    ///
    /// It names the very address it goes to, so that a server to which it was sent cannot show it to another one
    /// (draft-ietf-oauth-rfc7523bis), unless the configuration says what it has to name.
    ///
    /// - Parameters:
    ///   - url: where it is posted to.
    ///   - time: when it is made, by our clock or the server's.
    ///   - tools: the memory that has the key, and what fetches one that is ready.
    /// - Returns: the signed token.
    /// - Throws: `misconfigured` with what is wrong with the key, `busy` while sealed memory is locked.
    func make(
        for url: EndpointURL,
        at time: WallTime,
        _ tools: ServerDependencies
    ) async throws(RefreshFailure) -> String {
        let audience = try audience(at: url)
        let now = time.secondsSince1970
        let claims: JSONObject = [
            "iss": .string(clientID), "sub": .string(clientID), "aud": .string(audience),
            "jti": .string(RandomText.make()), "iat": .integer(now),
            "exp": .integer(now + ClientAssertions.lifetime),
        ]
        switch voucher {
        case .key(let secret, let identifier):
            return try sign(claims, with: key(secret, tools.memory), as: identifier)
        case .sharedSecret(let secret): return try authenticate(claims, with: secret, tools.memory)
        case .ready(let assertion): return try await assertion.fetch(audience: audience, tools)
        }
    }

    /// Finds out what is wrong with a key before anything is sent.
    ///
    /// - Parameter memory: has the key.
    /// - Throws: as ``make(for:at:_:)``.
    func check(_ memory: SealedMemory) throws(RefreshFailure) {
        switch voucher {
        case .key(let secret, _): _ = try algorithm(of: key(secret, memory))
        case .sharedSecret: _ = try symmetricAlgorithm()
        // Whatever is wrong with it, it is fetched again before each request.
        case .ready: break
        }
    }

    private func audience(at url: EndpointURL) throws(RefreshFailure) -> String {
        switch audience {
        case .endpoint: return url.description
        case .other(let text): return text
        case .issuer:
            guard let issuer else {
                let message = "client_assertion_audience is \"issuer\", and the session names none"
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
        as identifier: String?
    ) throws(RefreshFailure) -> String {
        let algorithm = try algorithm(of: key)
        do throws(SigningKey.Problem) {
            return try key.token(of: claims, with: algorithm, as: identifier)
        } catch {
            throw error.failure(of: reader)
        }
    }

    // MARK: A shared secret

    private func symmetricAlgorithm() throws(RefreshFailure) -> SignatureAlgorithm {
        guard let algorithm = SignatureAlgorithm.first(of: ClientAssertions.symmetric, in: listed) else {
            throw RefreshFailure(
                kind: .misconfigured,
                message: "the server takes no assertion signed with a client secret",
                remedy: "set client_authentication = \"private_key_jwt\" and a client_key_file, or \"basic\""
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
    /// The MAC of `text`; the algorithm is a symmetric one.
    fileprivate func authenticationCode(of text: [UInt8], by key: SymmetricKey) -> [UInt8] {
        switch self {
        case .hs384: Array(HMAC<SHA384>.authenticationCode(for: text, using: key))
        case .hs512: Array(HMAC<SHA512>.authenticationCode(for: text, using: key))
        default: Array(HMAC<SHA256>.authenticationCode(for: text, using: key))
        }
    }
}
