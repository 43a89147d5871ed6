// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The public keys of an issuer (RFC 7517 §5), reduced to those that can verify signatures.
struct KeySet: Equatable, Sendable {
    /// The maximum number of keys tried for one token.
    ///
    /// Issuers publish a handful, some of them one for each customer. The document itself is limited by
    /// ``HTTPLimits/body``.
    static let limit = 128

    struct Key: Equatable, Sendable {
        var identifier: ByteText?
        /// The `alg`, if the key is for one algorithm only.
        var algorithm: ByteText?
        /// The issuer that the key is for, which may be a template of tenants, or `nil` if it is for all.
        ///
        /// Microsoft publishes it, and requires the comparison where one key set serves many tenants.
        var issuer: String?
        var material: Material

        /// Returns whether the key is for the issuer of `token`.
        func isForIssuer(of token: JWTParts) -> Bool {
            guard let issuer else { return true }
            let tenant = token.claims["tid"]?.string ?? ""
            return token.claims["iss"]?.string.map {
                IssuerNameRules.isName($0, of: issuer, tenant: tenant)
            } ?? false
        }
    }

    /// The numbers of a key, in base64url as published.
    enum Material: Equatable, Sendable {
        case rsa(modulus: String, exponent: String)
        case elliptic(Curve, x: String, y: String)
        case edwards(x: String)
    }

    /// The curves for ID tokens (RFC 7518 §6.2.1.1).
    enum Curve: String, CaseIterable, Sendable {
        case p256 = "P-256"
        case p384 = "P-384"
        case p521 = "P-521"
    }

    var keys: [Key]

    /// Reads a JWK set, or returns `nil` if `document` is not one.
    ///
    /// Keys of unknown kinds, and keys for encryption, are ignored.
    init?(_ document: JSONObject) {
        guard let list = document["keys"]?.array else { return nil }
        keys = list.compactMap { $0.object.flatMap(KeySet.key) }
    }

    private static func key(_ jwk: JSONObject) -> Key? {
        if let use = jwk["use"], use.string != nil, use != "sig" { return nil }
        if let operations = jwk["key_ops"]?.array, !operations.contains("verify") { return nil }
        guard let material = material(jwk) else { return nil }
        return Key(
            identifier: jwk["kid"]?.string?.bytewise,
            algorithm: jwk["alg"]?.string?.bytewise,
            issuer: jwk["issuer"]?.string,
            material: material
        )
    }

    private static func material(_ jwk: JSONObject) -> Material? {
        switch jwk["kty"]?.string?.bytewise {
        case "RSA":
            guard let modulus = number("n", of: jwk, atMost: maximumModulusLength),
                let exponent = number("e", of: jwk, atMost: maximumExponentLength)
            else { return nil }
            return .rsa(modulus: modulus, exponent: exponent)
        case "EC":
            guard let name = jwk["crv"]?.string?.bytewise,
                let curve = Curve.allCases.first(where: { $0.rawValue.bytewise == name }),
                let x = number("x", of: jwk, atMost: maximumCoordinateLength),
                let y = number("y", of: jwk, atMost: maximumCoordinateLength)
            else { return nil }
            return .elliptic(curve, x: x, y: y)
        case "OKP":
            guard jwk["crv"] == "Ed25519", let x = number("x", of: jwk, atMost: maximumCoordinateLength)
            else {
                return nil
            }
            return .edwards(x: x)
        default: return nil
        }
    }

    /// The maximum length in base64url: a key of 16,384 bits, which already takes a thousand times the work
    /// of an ordinary one.
    private static let maximumModulusLength = 2_731
    /// The maximum length in base64url of a four-byte exponent.
    ///
    /// Nearly all keys use 65,537.
    private static let maximumExponentLength = 8
    /// The maximum length in base64url of the 66 bytes of P-521.
    private static let maximumCoordinateLength = 88

    /// Returns a number of a key.
    ///
    /// One that is longer than in any real key is rejected, because it only costs time.
    private static func number(_ name: String, of jwk: JSONObject, atMost limit: Int) -> String? {
        guard let text = jwk[name]?.string, (1...limit).contains(text.utf8.count) else { return nil }
        return text
    }

    /// Decodes a number of a key.
    ///
    /// Some publishers pad it or use the other alphabet.
    static func bytes(of number: String) -> [UInt8]? {
        let digits = number.utf8.map { digit in
            switch digit {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: digit
            }
        }
        return Base64.urlDecoded(digits.prefix { $0 != UInt8(ascii: "=") })
    }

    /// Returns the keys that may have made a signature with this `kid` and `alg`.
    ///
    /// If the token has no `kid`, every fitting key is a candidate, and a key without `kid` always is. All
    /// keys that share an identifier are tried, up to ``limit``. Those with the token's `kid` come first.
    func candidates(identifier: String?, algorithm: SignatureAlgorithm) -> [Key] {
        let identifier = identifier?.bytewise
        let fitting = keys.filter { key in
            (identifier == nil || key.identifier == nil || key.identifier == identifier)
                && (key.algorithm.map { SignatureAlgorithm(named: $0) == algorithm } ?? true)
                && algorithm.fits(key.material)
        }
        let named = fitting.filter { $0.identifier != nil }
        return Array((named + fitting.filter { $0.identifier == nil }).prefix(KeySet.limit))
    }
}

/// The signature algorithms for ID tokens (RFC 7518 §3.1, RFC 8037, RFC 9864).
///
/// `none` is not one of them.
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

    /// Returns the algorithm called `name`, like ``init(rawValue:)`` but compared as bytes.
    ///
    /// Of the curves of `EdDSA` only Ed25519 is supported, which has its own name in RFC 9864.
    init?(named name: ByteText) {
        if name == "Ed25519" {
            self = .edDSA
            return
        }
        guard let known = SignatureAlgorithm.allCases.first(where: { $0.rawValue.bytewise == name }) else {
            return nil
        }
        self = known
    }

    /// Whether the signature is verified with the client secret and not with a published key.
    var isSymmetric: Bool {
        switch self {
        case .hs256, .hs384, .hs512: true
        case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512, .es256, .es384, .es512, .edDSA: false
        }
    }

    /// Returns whether a key of this kind can make such signatures.
    ///
    /// The token must not choose the use of a key.
    func fits(_ material: KeySet.Material) -> Bool {
        switch (self, material) {
        case (.rs256, .rsa), (.rs384, .rsa), (.rs512, .rsa), (.ps256, .rsa), (.ps384, .rsa), (.ps512, .rsa):
            true
        case (.es256, .elliptic(.p256, _, _)), (.es384, .elliptic(.p384, _, _)): true
        case (.es512, .elliptic(.p521, _, _)), (.edDSA, .edwards): true
        default: false
        }
    }
}
