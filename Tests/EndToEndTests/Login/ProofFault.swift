// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

/// An invalid DPoP proof for the token endpoint, which violates one rule of RFC 9449 §4.3.
struct ProofFault: CustomTestStringConvertible, Sendable {
    let name: String
    /// The beginning of the issuer's error description.
    let reason: String
    let proof: @Sendable (ProvingClient) throws -> String

    var testDescription: String { name }

    private init(
        _ name: String,
        _ reason: String,
        _ proof: @escaping @Sendable (ProvingClient) throws -> String
    ) {
        self.name = name
        self.reason = reason
        self.proof = proof
    }

    private static func claims(_ name: String, _ reason: String, _ changes: JSONObject) -> ProofFault {
        ProofFault(name, reason) { try $0.proof(changes) }
    }

    private static func header(_ name: String, _ reason: String, _ changes: JSONObject) -> ProofFault {
        ProofFault(name, reason) { client in
            try client.key.proof(header: client.key.header.changed(by: changes), claims: client.claims())
        }
    }

    private static func webKey(_ name: String, _ reason: String, _ changes: JSONObject) -> ProofFault {
        ProofFault(name, reason) { client in
            let key = client.key.webKey.changed(by: changes)
            let header = client.key.header.changed(by: ["jwk": .object(key)])
            return try client.key.proof(header: header, claims: client.claims())
        }
    }

    private static func time(_ name: String, _ reason: String, _ offset: Int64) -> ProofFault {
        ProofFault(name, reason) { try $0.proof(["iat": .integer(ProvingClient.now + offset)]) }
    }

    private static func address(
        _ name: String,
        _ reason: String,
        _ change: @escaping @Sendable (String) -> String
    ) -> ProofFault {
        ProofFault(name, reason) { try $0.proof(["htu": .string(change($0.issuer.issuer))]) }
    }

    private static func text(
        _ name: String,
        _ reason: String,
        _ change: @escaping @Sendable (String) -> String
    ) -> ProofFault {
        ProofFault(name, reason) { change(try $0.proof()) }
    }

    static let all = form + headers + keys + signatures + statements

    private static let form = [
        text("no JWT", "the proof is no compact JWT") { _ in "nonsense" },
        text("no signature", "the proof is no compact JWT") {
            $0.split(separator: ".").prefix(2).joined(separator: ".")
        },
        text("a part too many", "the proof is no compact JWT") { $0 + "." },
        text("padding", "the proof is no compact JWT") { $0 + "==" },
        text("a blank", "the proof is no compact JWT") { $0.replacingFirst(".", with: ". ") },
        claims("too long", "the proof is longer", ["more": .string(String(repeating: "x", count: 6200))]),
        ProofFault("claims that are no object", "the proof is no compact JWT") { client in
            let part = try client.proof().split(separator: ".")
            return "\(part[0]).W10.\(part[2])"
        },
    ]

    private static let headers = [
        header("another type", "typ", ["typ": "JWT"]),
        header("no type", "typ", ["typ": .null]),
        header("another algorithm", "alg", ["alg": "ES384"]),
        header("no algorithm", "alg", ["alg": .null]),
        header("a critical extension", "crit", ["crit": ["exp"]]),
        header("no key", "jwk is no public key", ["jwk": .null]),
    ]

    private static let keys = [
        webKey("another curve", "jwk is no public key", ["crv": "P-384"]),
        webKey("another kind of key", "jwk is no public key", ["kty": "OKP"]),
        webKey(
            "a point beside the curve",
            "jwk is no public key",
            ["y": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]
        ),
        webKey("half a point", "jwk is no public key", ["y": .null]),
        webKey("a short coordinate", "jwk is no public key", ["x": "AAAA"]),
        ProofFault("a private key", "jwk holds a private key") { client in
            let key = client.key.webKey.changed(by: ["d": client.key.secret])
            let header = client.key.header.changed(by: ["jwk": .object(key)])
            return try client.key.proof(header: header, claims: client.claims())
        },
    ]

    private static let signatures = [
        ProofFault("algorithm none", "alg") { client in
            let header = client.key.header.changed(by: ["alg": "none"])
            return ProvingKey.signingInput(header: header, claims: client.claims()) + "."
        },
        ProofFault("ES256 without a signature", "the signature") { client in
            ProvingKey.signingInput(header: client.key.header, claims: client.claims()) + "."
        },
        ProofFault("algorithm HS256", "alg") { client in
            let header = client.key.header.changed(by: ["alg": "HS256"])
            return client.key.symmetricProof(header: header, claims: client.claims())
        },
        ProofFault("a signature by another key", "the signature") { client in
            try ProvingKey().proof(header: client.key.header, claims: client.claims())
        },
        ProofFault("other claims than were signed", "the signature") { client in
            let signed = try client.proof().split(separator: ".")
            let other = try client.proof().split(separator: ".")
            return "\(signed[0]).\(other[1]).\(signed[2])"
        },
    ]

    private static let statements = [
        claims("another method", "htm", ["htm": "GET"]),
        claims("the method in small letters", "htm", ["htm": "post"]),
        claims("no method", "htm", ["htm": .null]),
        address("another path", "htu") { $0 + "/resource" },
        address("another host", "htu") { _ in "https://issuer.example/token" },
        address("a query", "htu") { $0 + "/token?a=b" },
        claims("no address", "htu", ["htu": .null]),
        time("too old", "iat", -90),
        time("from the future", "iat", 90),
        claims("a time in words", "iat", ["iat": "now"]),
        claims("a time without end", "iat", ["iat": .number("1e999")]),
        claims("no time", "iat", ["iat": .null]),
        claims("no name", "jti", ["jti": .null]),
        claims("an empty name", "jti", ["jti": ""]),
        claims("a number for a name", "jti", ["jti": 7]),
    ]
}

extension String {
    fileprivate func replacingFirst(_ character: Character, with text: String) -> String {
        guard let index = firstIndex(of: character) else { return self }
        return self[..<index] + text + self[self.index(after: index)...]
    }
}
