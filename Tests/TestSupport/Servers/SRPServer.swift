// SPDX-License-Identifier: MIT

import Crypto
import DemoIssuer
import ModularArithmetic
import Text

/// The server side of Cognito's Secure Remote Password, written from RFC 5054 §2.5 independently of the
/// client.
struct SRPServer: Sendable {
    let userID: String
    let secretBlock: String
    private let pool: String
    private let salt: [UInt8]
    private let verifier: Residue
    private let privateKey: [UInt8]
    private let clientValue: Residue
    private let serverValue: Residue

    var saltText: String { SRPServer.hexadecimal(salt) }
    var serverKey: String { SRPServer.hexadecimal(serverValue.bytes) }

    /// Begins an exchange, or returns `nil` for a key that no legitimate client sends.
    init?(clientKey: String, pool: String, userID: String, password: String) {
        let digits = clientKey.count % 2 == 0 ? clientKey : "0" + clientKey
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap { offset in
            UInt8(digits.dropFirst(offset).prefix(2), radix: 16)
        }
        guard 2 * bytes.count == digits.count, let clientValue = Residue(bigEndian: bytes),
            !clientValue.isZero
        else { return nil }
        self.pool = pool
        self.userID = userID
        self.clientValue = clientValue
        salt = (0..<16).map { _ in UInt8.random(in: 0...255) }
        let secret = SRPServer.digest([Array("\(pool)\(userID):\(password)".utf8)])
        verifier = Residue(2).power(SRPServer.digest([SRPServer.octets(salt), secret]))
        privateKey = (0..<32).map { _ in UInt8.random(in: 0...255) }
        let multiplier = SRPServer.digest([SRPServer.octets(Residue.prime), [2]])
        guard let multiplier = Residue(bigEndian: multiplier) else { return nil }
        serverValue = multiplier * verifier + Residue(2).power(privateKey)
        secretBlock = Base64.encoded((0..<64).map { _ in UInt8.random(in: 0...255) })
    }

    /// Returns whether the responses to `PASSWORD_VERIFIER` prove the password.
    func accepts(_ responses: JSONObject) -> Bool {
        guard responses["PASSWORD_CLAIM_SECRET_BLOCK"]?.string == secretBlock,
            let timestamp = responses["TIMESTAMP"]?.string,
            let signature = responses["PASSWORD_CLAIM_SIGNATURE"]?.string
        else { return false }
        var mac = HMAC<SHA256>(key: sessionKey)
        for part in [pool, userID] { mac.update(data: Array(part.utf8)) }
        mac.update(data: Base64.decoded(secretBlock) ?? [])
        mac.update(data: Array(timestamp.utf8))
        return Base64.encoded(mac.finalize()) == signature
    }

    /// The first 16 bytes of HKDF (RFC 5869), written out.
    private var sessionKey: SymmetricKey {
        let scramble = SRPServer.digest([
            SRPServer.octets(clientValue.bytes), SRPServer.octets(serverValue.bytes),
        ])
        let shared = (clientValue * verifier.power(scramble)).power(privateKey)
        let extracted = HMAC<SHA256>.authenticationCode(
            for: SRPServer.octets(shared.bytes),
            using: SymmetricKey(data: SRPServer.octets(scramble))
        )
        let expanded = HMAC<SHA256>.authenticationCode(
            for: Array("Caldera Derived Key\u{1}".utf8),
            using: SymmetricKey(data: Array(extracted))
        )
        return SymmetricKey(data: Array(expanded.prefix(16)))
    }

    private static func digest(_ parts: [[UInt8]]) -> [UInt8] {
        Array(SHA256.hash(data: parts.flatMap(\.self)))
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Returns a number in big-endian two's complement, as in Java's `BigInteger.toByteArray`, which Amazon's
    /// server hashes.
    private static func octets(_ number: [UInt8]) -> [UInt8] {
        var rest = number[...]
        while rest.first == 0 { rest = rest.dropFirst() }
        return rest.first.map({ $0 < 0x80 }) ?? false ? Array(rest) : [0] + rest
    }
}
