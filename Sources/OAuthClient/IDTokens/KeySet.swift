// SPDX-License-Identifier: MIT

import JWTKit
import Text
import TokenCore

/// The public keys of an issuer (RFC 7517 §5), reduced to those that can verify signatures.
struct KeySet: Equatable, Sendable {
    /// Issuers publish a handful; more is an attempt to keep us busy.
    static let limit = 64

    struct Key: Equatable, Sendable {
        var identifier: ByteText?
        /// `alg`, when the key is meant for one algorithm only.
        var algorithm: ByteText?
        var material: Material
    }

    /// What a key is made of, in base64url as published.
    enum Material: Equatable, Sendable {
        case rsa(modulus: String, exponent: String)
        case elliptic(Curve, x: String, y: String)
        case edwards(x: String)
    }

    /// The curves ID tokens are signed on (RFC 7518 §6.2.1.1).
    enum Curve: String, CaseIterable, Sendable {
        case p256 = "P-256"
        case p384 = "P-384"
        case p521 = "P-521"
    }

    var keys: [Key]

    /// Reads a JWK set; keys of unknown kinds, or meant for encryption, are passed over.
    init?(_ document: JSONObject) {
        guard let list = document["keys"]?.array, list.count <= KeySet.limit else { return nil }
        keys = list.compactMap { $0.object.flatMap(KeySet.key) }
    }

    private static func key(_ jwk: JSONObject) -> Key? {
        if let use = jwk["use"], use.string != nil, use != "sig" { return nil }
        if let operations = jwk["key_ops"]?.array, !operations.contains("verify") { return nil }
        guard let material = material(jwk) else { return nil }
        return Key(
            identifier: jwk["kid"]?.string?.bytewise,
            algorithm: jwk["alg"]?.string?.bytewise,
            material: material
        )
    }

    private static func material(_ jwk: JSONObject) -> Material? {
        switch jwk["kty"]?.string?.bytewise {
        case "RSA":
            guard let modulus = number("n", of: jwk, atMost: longestModulus),
                let exponent = number("e", of: jwk, atMost: longestExponent)
            else { return nil }
            return .rsa(modulus: modulus, exponent: exponent)
        case "EC":
            guard let name = jwk["crv"]?.string?.bytewise,
                let curve = Curve.allCases.first(where: { $0.rawValue.bytewise == name }),
                let x = number("x", of: jwk, atMost: longestCoordinate),
                let y = number("y", of: jwk, atMost: longestCoordinate)
            else { return nil }
            return .elliptic(curve, x: x, y: y)
        case "OKP":
            guard jwk["crv"] == "Ed25519", let x = number("x", of: jwk, atMost: longestCoordinate) else {
                return nil
            }
            return .edwards(x: x)
        default: return nil
        }
    }

    /// Bytes of base64url: a key of 16,384 bits, which takes a thousand times the work of an ordinary one already.
    private static let longestModulus = 2_731
    /// Four bytes; everybody has 65,537.
    private static let longestExponent = 8
    /// The 66 bytes of P-521.
    private static let longestCoordinate = 88

    /// A number of a key; one longer than in any real key is refused, as it would only cost time.
    private static func number(_ name: String, of jwk: JSONObject, atMost limit: Int) -> String? {
        guard let text = jwk[name]?.string, (1...limit).contains(text.utf8.count) else { return nil }
        return text
    }

    /// Keys that may have made a signature with this `kid` and `alg`.
    ///
    /// If the token has no `kid`, every fitting key is a candidate; a key without `kid` always is. All keys
    /// that share an identifier are tried.
    func candidates(identifier: String?, algorithm: SignatureAlgorithm) -> [Key] {
        let identifier = identifier?.bytewise
        return keys.filter { key in
            (identifier == nil || key.identifier == nil || key.identifier == identifier)
                && (key.algorithm == nil || key.algorithm == algorithm.rawValue.bytewise)
                && algorithm.fits(key.material)
        }
    }
}

/// Signature algorithms an ID token may use (RFC 7518 §3.1, RFC 8037); `none` is not one.
enum SignatureAlgorithm: String, CaseIterable, Sendable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    case edDSA = "EdDSA"
    case hs256 = "HS256"
    case hs384 = "HS384"
    case hs512 = "HS512"

    /// The algorithm that a server calls `name`; like ``init(rawValue:)``, but compared as bytes.
    init?(named name: ByteText) {
        guard let known = SignatureAlgorithm.allCases.first(where: { $0.rawValue.bytewise == name }) else {
            return nil
        }
        self = known
    }

    /// Whether the client secret verifies it instead of a published key.
    var isSymmetric: Bool {
        switch self {
        case .hs256, .hs384, .hs512: true
        case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512, .es256, .es384, .es512, .edDSA: false
        }
    }

    /// Whether a key of this kind can make such signatures: the token must not choose how a key is used.
    func fits(_ material: KeySet.Material) -> Bool {
        switch (self, material) {
        case (.rs256, .rsa), (.rs384, .rsa), (.rs512, .rsa), (.ps256, .rsa), (.ps384, .rsa), (.ps512, .rsa):
            true
        case (.es256, .elliptic(.p256, _, _)), (.es384, .elliptic(.p384, _, _)): true
        case (.es512, .elliptic(.p521, _, _)), (.edDSA, .edwards): true
        default: false
        }
    }

    private var digest: DigestAlgorithm {
        switch self {
        case .rs256, .ps256, .hs256, .es256, .edDSA: .sha256
        case .rs384, .ps384, .hs384, .es384: .sha384
        case .rs512, .ps512, .hs512, .es512: .sha512
        }
    }

    /// Whether `key` made the signature of `token`; `false` also for a key that cannot be used.
    func verify(_ token: JWTParts, with key: KeySet.Material) async -> Bool {
        let keys = JWTKeyCollection()
        do {
            switch key {
            case .rsa(let modulus, let exponent):
                let key = try Insecure.RSA.PublicKey(modulus: modulus, exponent: exponent)
                if rawValue.hasPrefix("PS") {
                    await keys.add(pss: key, digestAlgorithm: digest)
                } else {
                    await keys.add(rsa: key, digestAlgorithm: digest)
                }
            case .elliptic(.p256, let x, let y):
                await keys.add(ecdsa: try ES256PublicKey(parameters: (x, y)))
            case .elliptic(.p384, let x, let y):
                await keys.add(ecdsa: try ES384PublicKey(parameters: (x, y)))
            case .elliptic(.p521, let x, let y):
                await keys.add(ecdsa: try ES512PublicKey(parameters: (x, y)))
            case .edwards(let x):
                await keys.add(eddsa: try EdDSA.PublicKey(x: x, curve: .ed25519))
            }
            return try await keys.getKey().verify(token.signature, signs: token.signedBytes)
        } catch {
            return false
        }
    }

    /// Whether the signature of `token` is a MAC under `secret`.
    func verify(_ token: JWTParts, secret: [UInt8]) async -> Bool {
        let keys = JWTKeyCollection()
        await keys.add(hmac: HMACKey(from: secret), digestAlgorithm: digest)
        return (try? await keys.getKey().verify(token.signature, signs: token.signedBytes)) ?? false
    }
}
