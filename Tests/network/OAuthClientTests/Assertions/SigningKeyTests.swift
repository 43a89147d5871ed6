// SPDX-License-Identifier: MIT

import Testing
import Text

@testable import OAuthClient

/// Private keys as people have them, and what they sign.
struct SigningKeyTests {
    /// RFC 7515 §A.2 and RFC 8037 §A.4: a key, an algorithm without chance in it, a text, its signature.
    struct Vector: Sendable, CustomTestStringConvertible {
        var name: String
        var key: String
        var algorithm: SignatureAlgorithm
        var text: String
        var signature: String
        var testDescription: String { name }
    }

    private static let jwtOfRFC7515 =
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    private static let signatureOfRFC7515 = """
        cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7\
        t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12\
        jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUP\
        QGe77Rw
        """
    private static let jwsOfRFC8037 = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
    private static let signatureOfRFC8037 =
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"

    static let vectors: [Vector] =
        [("a JWK", TestKeys.rsaJWK), ("PKCS#1", TestKeys.rsaPKCS1), ("PKCS#8", TestKeys.rsaPKCS8)].map {
            Vector(
                name: "RSA, \($0)",
                key: $1,
                algorithm: .rs256,
                text: jwtOfRFC7515,
                signature: signatureOfRFC7515
            )
        }
        + [("a JWK", TestKeys.edwardsJWK), ("PKCS#8", TestKeys.edwards)].map {
            Vector(
                name: "Ed25519, \($0)",
                key: $1,
                algorithm: .edDSA,
                text: jwsOfRFC8037,
                signature: signatureOfRFC8037
            )
        }

    @Test(arguments: vectors)
    func `signatures are those of the standards`(vector: Vector) throws {
        let key = try SigningKey(vector.key)
        let signature = try key.operations.sign(Array(vector.text.utf8), vector.algorithm)
        #expect(Base64.urlEncoded(signature) == vector.signature)
    }

    /// Chance is in these: their public halves verify them.
    @Test(arguments: [
        (TestKeys.ellipticJWK, SignatureAlgorithm.es256, KeySet.Material.rfc7515Curve),
        (TestKeys.elliptic, .es256, .ellipticTestKey), (TestKeys.ellipticPKCS8, .es256, .ellipticTestKey),
        (TestKeys.rsaJWK, .ps256, .rfc7515RSA), (TestKeys.rsaPKCS8, .ps256, .rfc7515RSA),
    ])
    func `signatures verify by the public key`(
        text: String,
        algorithm: SignatureAlgorithm,
        publicKey: KeySet.Material
    ) throws {
        let key = try SigningKey(text)
        let signed = JWTParts.signedText(["alg": .string(algorithm.rawValue)], ["sub": "cli"])
        let signature = try key.operations.sign(Array(signed.utf8), algorithm)
        let token = try #require(JWTParts(signed + "." + Base64.urlEncoded(signature)))
        #expect(algorithm.verify(token, with: publicKey))
    }

    @Test func `keys verify also with padding and in the other alphabet`() throws {
        let key = try SigningKey(TestKeys.ellipticJWK)
        let token = try #require(JWTParts(try key.token(of: ["sub": "cli"], with: .es256)))
        guard case .elliptic(let curve, let x, let y) = KeySet.Material.rfc7515Curve else { return }
        func other(_ number: String) -> String {
            String(number.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }) + "="
        }
        #expect(SignatureAlgorithm.es256.verify(token, with: .elliptic(curve, x: other(x), y: other(y))))
        #expect(!SignatureAlgorithm.es256.verify(token, with: .elliptic(curve, x: other(y), y: other(x))))
    }

    @Test func `line breaks of other systems and blanks around a key do not matter`() throws {
        let text = "  \r\n" + TestKeys.rsaPKCS8.replacing("\n", with: "\r\n") + "\t\r\n"
        #expect(try SigningKey(text).algorithm(among: nil) == .rs256)
        #expect(try SigningKey("Bag Attributes\n" + TestKeys.edwards).algorithm(among: nil) == .edDSA)
        #expect(try SigningKey("\n " + TestKeys.ellipticJWK).algorithm(among: nil) == .es256)
    }

    @Test(arguments: [
        ("", "contains neither PEM nor a JWK"), ("{", "contains neither PEM nor a JWK"),
        ("{\"keys\":[]}", "is a key set, not one key"),
        ("{\"kty\":\"RSA\"}", "contains a public key, not the private key"),
        (Certificates.good, "contains a certificate, not a private key"),
        (TestKeys.ellipticPublic, "contains a public key, not the private key"),
        (TestKeys.encryptedPKCS8, "the key is encrypted with a passphrase"),
        (TestKeys.encryptedSEC1, "the key is encrypted with a passphrase"),
        (TestKeys.p384, "the key is damaged or not on the curve P-256"),
        (TestKeys.agreement, "this type of key is not supported"),
        (TestKeys.shortRSA, "the RSA key is damaged or has fewer than 2048 bits"),
        (TestKeys.edwards.replacing("MC4C", with: "MC4?"), "the key is damaged"),
        (
            TestKeys.edwards.replacing("PRIVATE", with: "OPENSSH PRIVATE"),
            "this type of key is not supported"
        ),
        (TestKeys.edwardsJWK.replacing("Ed25519", with: "Ed448"), "this type of key is not supported"),
        (TestKeys.edwardsJWK.replacing("f2A", with: "f"), "the Ed25519 key is damaged"),
        (
            TestKeys.edwardsJWK.replacing("\"OKP\"", with: "\"OKP\",\"alg\":\"ECDH-ES\""),
            "the key is for ECDH-ES, which is not supported"
        ),
    ])
    func `what is no usable key is told in one sentence`(text: String, sentence: String) throws {
        let problem = #expect(throws: SigningKey.Problem.self) { try SigningKey(text) }
        #expect(problem?.message == sentence)
    }

    @Test func `an encrypted key has a way out`() throws {
        let problem = #expect(throws: SigningKey.Problem.self) { try SigningKey(TestKeys.encryptedPKCS8) }
        let remedy = problem?.remedy("client_key_file", command: "client_key_command")
        #expect(remedy?.text.hasPrefix("client_key_command to a command that decrypts the key") == true)
    }

    @Test(
        arguments: [
            (TestKeys.rsaPKCS8, nil, SignatureAlgorithm.rs256),
            (TestKeys.rsaPKCS8, ["PS256", "RS256"], .rs256),
            (TestKeys.rsaPKCS8, ["ES256", "PS256"], .ps256), (TestKeys.edwards, ["EdDSA"], .edDSA),
            (TestKeys.rsaPKCS8, ["ES256"], nil), (TestKeys.elliptic, ["RS256", "PS256"], nil),
            (TestKeys.elliptic, [], nil),
            (TestKeys.rsaJWK.replacing("\"RSA\"", with: "\"RSA\",\"alg\":\"PS256\""), nil, .ps256),
            (TestKeys.rsaJWK.replacing("\"RSA\"", with: "\"RSA\",\"alg\":\"PS256\""), ["RS256"], nil),
        ] as [(String, [String]?, SignatureAlgorithm?)]
    )
    func `the algorithm fits the key and is one the server lists`(
        text: String,
        listed: [String]?,
        chosen: SignatureAlgorithm?
    ) throws {
        let key = try SigningKey(text)
        #expect((try? key.algorithm(among: listed?.map(\.bytewise))) == chosen)
    }
}

extension KeySet.Material {
    /// The public half of the key in `jwk`.
    init?(jwk: String) {
        guard let jwk = try? JSONValue(parsing: jwk.utf8),
            let keys = KeySet(["keys": .array([jwk])])?.keys, let key = keys.first
        else { return nil }
        self = key.material
    }

    static let rfc7515RSA = KeySet.Material(jwk: TestKeys.rsaJWK) ?? .edwards(x: "")
    static let rfc7515Curve = KeySet.Material(jwk: TestKeys.ellipticJWK) ?? .edwards(x: "")
    static let rfc8037 = KeySet.Material(jwk: TestKeys.edwardsJWK) ?? .edwards(x: "")
    /// Of ``TestKeys/elliptic``.
    static let ellipticTestKey = KeySet.Material.elliptic(
        .p256,
        x: "3DW2Djntpuf79EsRi0u-YQaPI41RCWkZVCYScqibHME",
        y: "7OHSXSMrM1-N3uwEMR624IgiRwA3OUI37jimXzBZieo"
    )
}
