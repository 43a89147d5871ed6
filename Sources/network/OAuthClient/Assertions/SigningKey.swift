// SPDX-License-Identifier: MIT

import Crypto
import CryptoExtras
import ServerCertificates
import Text
import TokenCore

/// A private key that signs assertions: RSA, P-256 or Ed25519, read from PEM or a JWK.
///
/// The key lives for one signature. Between signatures, its text is in sealed memory.
struct SigningKey: Sendable {
    /// The operations of a key of any library.
    struct Operations: Sendable {
        /// The algorithms of the key (RFC 7518 §3.1, RFC 8037 §3.1), with the one that every server supports
        /// first.
        let algorithms: [SignatureAlgorithm]
        /// Signs a text with one of `algorithms`.
        let sign: @Sendable (_ text: [UInt8], SignatureAlgorithm) throws -> [UInt8]
    }

    let operations: Operations
    /// The `kid` of a JWK.
    private(set) var identifier: String?
    /// The `alg` of a JWK, the only algorithm that the key may be used with.
    private(set) var algorithm: SignatureAlgorithm?

    /// Parses a private key.
    ///
    /// - Parameter text: PEM (PKCS#8, PKCS#1, SEC 1), or a JWK (RFC 7517).
    /// - Throws: The reason the text is not a usable key.
    init(_ text: String) throws(Problem) {
        if text.utf8.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) == UInt8(ascii: "{") {
            try self.init(jwk: text)
        } else {
            try self.init(pem: text)
        }
    }

    private init(pem text: String) throws(Problem) {
        let block = try PEMBlock.privateKey(in: text)
        guard let bytes = block.bytes else { throw .noBase64 }
        operations = try SigningKey.operations(of: block.label, bytes)
    }

    private static func operations(of label: String, _ bytes: [UInt8]) throws(Problem) -> Operations {
        let family: Family? =
            switch label.bytewise {
            case "RSA PRIVATE KEY": .rsa
            case "EC PRIVATE KEY": .elliptic
            case "PRIVATE KEY": Family(ofPKCS8: bytes)
            default: nil
            }
        guard let family else { throw .unsupported }
        do {
            return switch family {
            case .rsa: .rsa(try _RSA.Signing.PrivateKey(pemRepresentation: PEMBlock.text(label, bytes)))
            case .elliptic: .elliptic(try P256.Signing.PrivateKey(derRepresentation: bytes))
            case .edwards:
                .edwards(
                    try Curve25519.Signing.PrivateKey(pemRepresentation: PEMBlock.text(label, bytes))
                )
            }
        } catch {
            throw .unusable(family)
        }
    }

    private init(jwk text: String) throws(Problem) {
        guard let jwk = try? JSONValue(parsing: text.utf8).object else {
            throw .noKey(instead: nil)
        }
        guard jwk["keys"] == nil else { throw .severalKeys }
        guard jwk["d"] != nil else { throw .noKey(instead: "PUBLIC KEY") }
        operations = try SigningKey.operations(of: jwk)
        identifier = jwk["kid"]?.string
        guard let name = jwk["alg"]?.string else { return }
        algorithm = SignatureAlgorithm(named: name.bytewise)
        guard let algorithm, operations.algorithms.contains(algorithm) else { throw .otherUse(name) }
    }

    private static func operations(of jwk: JSONObject) throws(Problem) -> Operations {
        func number(_ name: String) -> [UInt8] { jwk[name]?.string.flatMap(KeySet.bytes(of:)) ?? [] }
        let family: Family
        switch (jwk["kty"]?.string?.bytewise, jwk["crv"]?.string?.bytewise) {
        case ("RSA", _): family = .rsa
        case ("EC", "P-256"): family = .elliptic
        case ("OKP", "Ed25519"): family = .edwards
        default: throw .unsupported
        }
        do {
            let secret = number("d")
            switch family {
            case .rsa where jwk["p"] != nil:
                return .rsa(
                    try _RSA.Signing.PrivateKey(
                        n: number("n"),
                        e: number("e"),
                        d: secret,
                        p: number("p"),
                        q: number("q")
                    )
                )
            case .rsa:
                return .rsa(
                    try _RSA.Signing.PrivateKey._createFromNumbers(n: number("n"), e: number("e"), d: secret)
                )
            case .elliptic: return .elliptic(try P256.Signing.PrivateKey(rawRepresentation: secret))
            case .edwards: return .edwards(try Curve25519.Signing.PrivateKey(rawRepresentation: secret))
            }
        } catch {
            throw .unusable(family)
        }
    }

    /// Returns the key's first algorithm that the server lists.
    ///
    /// - Parameter listed: The `token_endpoint_auth_signing_alg_values_supported`, or `nil` if the server
    ///   does not publish them.
    /// - Returns: The algorithm to sign with.
    /// - Throws: `notTaken` if the server lists none of the key's algorithms.
    func algorithm(among listed: [ByteText]?) throws(Problem) -> SignatureAlgorithm {
        let fitting = algorithm.map { [$0] } ?? operations.algorithms
        guard let chosen = SignatureAlgorithm.first(of: fitting, in: listed) else {
            throw .notTaken(fitting, listed: listed ?? [])
        }
        return chosen
    }

    /// Returns a signed token (RFC 7519).
    ///
    /// - Parameters:
    ///   - claims: The claims of the token.
    ///   - algorithm: An algorithm returned by ``algorithm(among:)``.
    ///   - name: The `kid`, by default that of the JWK.
    ///   - thumbprint: The SHA-256 thumbprint of the key's certificate (`x5t#S256`), or `nil`.
    /// - Returns: The token in compact form.
    /// - Throws: `cannotSign` if the library cannot sign with the key.
    func token(
        of claims: JSONObject,
        with algorithm: SignatureAlgorithm,
        as name: String? = nil,
        certificate thumbprint: String? = nil
    ) throws(Problem) -> String {
        var header: JSONObject = ["alg": .string(algorithm.rawValue), "typ": "JWT"]
        if let identifier = name ?? identifier { header["kid"] = .string(identifier) }
        if let thumbprint { header["x5t#S256"] = .string(thumbprint) }
        let text = JWTParts.signedText(header, claims)
        do {
            return text + "." + Base64.urlEncoded(try operations.sign(Array(text.utf8), algorithm))
        } catch {
            throw .cannotSign
        }
    }
}

extension SigningKey {
    /// The kinds of keys, distinguished before a library parses them.
    enum Family: Equatable, Sendable {
        case rsa
        case elliptic
        case edwards

        /// Reads the `privateKeyAlgorithm` of a PKCS#8 key (RFC 5958 §2).
        init?(ofPKCS8 bytes: [UInt8]) {
            var outer = DERReader(bytes[...])
            guard var fields = outer.sequence(), fields.next()?.tag == DERReader.integer,
                var algorithm = fields.sequence(), let identifier = algorithm.next(),
                identifier.tag == DERReader.objectIdentifier
            else { return nil }
            switch Array(identifier.content) {
            // The identifiers of RFC 8017 §A.1, RFC 5480 §2.1.1 and RFC 8410 §3.
            case [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]: self = .rsa
            case [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]: self = .elliptic
            case [0x2B, 0x65, 0x70]: self = .edwards
            default: return nil
            }
        }
    }

    /// The reason a text is not a usable key.
    enum Problem: Error, Equatable {
        /// The text contains something else, such as a certificate, or is neither PEM nor JSON (`nil`).
        case noKey(instead: String?)
        /// The key is encrypted.
        ///
        /// The library would ask for the passphrase at the terminal.
        case encrypted
        case noBase64
        case severalKeys
        case unsupported
        /// The library rejects the key.
        case unusable(Family)
        /// The `alg` of a JWK names an algorithm that the key does not support.
        case otherUse(String)
        case notTaken([SignatureAlgorithm], listed: [ByteText])
        case cannotSign

        /// The end of a sentence that begins "client_key_file PATH:".
        var message: String {
            switch self {
            case .noKey(nil): "contains neither PEM nor a JWK"
            case .noKey("CERTIFICATE"): "contains a certificate, not a private key"
            case .noKey(let label?) where label.bytewise.hasSuffix("PUBLIC KEY"):
                "contains a public key, not the private key"
            case .noKey: "contains no private key"
            case .encrypted: "the key is encrypted with a passphrase"
            case .noBase64: "the key is damaged"
            case .severalKeys: "is a key set, not one key"
            case .unsupported: "this type of key is not supported"
            case .unusable(.rsa): "the RSA key is damaged or has fewer than 2048 bits"
            case .unusable(.elliptic): "the key is damaged or not on the curve P-256"
            case .unusable(.edwards): "the Ed25519 key is damaged"
            case .otherUse(let name):
                "the key is for \(ServerText.cleaned(name, limit: 60)), which is not supported"
            case .cannotSign: "cannot sign with the key"
            case .notTaken(let own, let listed):
                "signs with \(own.map(\.rawValue).joined(separator: " or ")), which is not supported"
                    + (listed.isEmpty ? "" : " by the server (supported: \(Problem.shown(listed)))")
            }
        }

        /// Returns the remedy.
        ///
        /// - Parameters:
        ///   - source: The configuration key of the file or command that the key comes from.
        ///   - command: The configuration key of a command that prints the key.
        /// - Returns: The remedy, or `nil` if there is none.
        func remedy(_ source: String, command: String) -> Remedy? {
            switch self {
            case .encrypted: .set("\(command) to a command that decrypts the key, such as openssl pkey")
            case .unsupported, .unusable:
                .set("\(source) to an RSA, P-256 or Ed25519 key in PEM or JWK format")
            case .notTaken(_, let listed):
                Problem.kinds(for: listed).map { Remedy.set("\(source) to \($0) key in PEM or JWK format") }
            case .noKey, .noBase64, .severalKeys, .otherUse, .cannotSign: nil
            }
        }

        /// Converts the problem to a failure of the session.
        ///
        /// - Parameter reader: The reader of the key.
        /// - Returns: A failure that names the file or command.
        func failure(of reader: SecretReader) -> RefreshFailure {
            RefreshFailure(
                kind: failureClass,
                message: "\(reader.origin): \(message)",
                remedy: remedy(reader.sourceKey, command: reader.commandKey)
            )
        }

        /// The class of the failure, which is temporary if a file has this error while another program writes
        /// it.
        var failureClass: FailureClass {
            switch self {
            case .noKey, .noBase64, .unusable: .helperFailed
            case .encrypted, .severalKeys, .unsupported, .otherUse, .cannotSign, .notTaken: .misconfigured
            }
        }

        /// Returns the kinds of keys that sign with one of `listed`, such as "an RSA or P-256", or `nil` if
        /// none does.
        private static func kinds(for listed: [ByteText]) -> String? {
            let all: [(name: String, signs: [SignatureAlgorithm])] = [
                ("RSA", [.rs256, .ps256]), ("P-256", [.es256]), ("Ed25519", [.edDSA]),
            ]
            let names = all.filter { SignatureAlgorithm.first(of: $0.signs, in: listed) != nil }.map(\.name)
            guard let first = names.first else { return nil }
            return (first == "P-256" ? "a " : "an ") + names.joined(separator: " or ")
        }

        private static func shown(_ listed: [ByteText]) -> String {
            ServerText.cleaned(listed.map(\.text).joined(separator: ", "), limit: 120)
        }
    }
}

extension SigningKey.Operations {
    fileprivate static func rsa(_ key: _RSA.Signing.PrivateKey) -> Self {
        Self(algorithms: [.rs256, .ps256]) { text, algorithm in
            let digest = SHA256.hash(data: text)
            return Array(try key.signature(for: digest, padding: algorithm.padding).rawRepresentation)
        }
    }

    fileprivate static func elliptic(_ key: P256.Signing.PrivateKey) -> Self {
        Self(algorithms: [.es256]) { text, _ in Array(try key.signature(for: text).rawRepresentation) }
    }

    fileprivate static func edwards(_ key: Curve25519.Signing.PrivateKey) -> Self {
        Self(algorithms: [.edDSA]) { text, _ in Array(try key.signature(for: text)) }
    }
}

extension SignatureAlgorithm {
    /// Returns the first of `own` that is in `listed`.
    ///
    /// If `listed` is `nil`, the server publishes none, and the first is used.
    static func first(of own: [SignatureAlgorithm], in listed: [ByteText]?) -> SignatureAlgorithm? {
        guard let listed else { return own.first }
        return own.first { listed.contains($0.rawValue.bytewise) }
    }
}
