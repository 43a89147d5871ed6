// SPDX-License-Identifier: MIT

import BigInt
import Crypto
import StrictJSON

/// The server's half of Cognito's Secure Remote Password, written from RFC 5054 §2.5 apart from the client's.
struct SRPServer: Sendable {
    let userID: String
    let secretBlock: String
    private let pool: String
    private let salt: BigUInt
    private let verifier: BigUInt
    private let privateKey: BigUInt
    private let clientValue: BigUInt
    private let serverValue: BigUInt

    var saltText: String { String(salt, radix: 16) }
    var serverKey: String { String(serverValue, radix: 16) }

    /// `nil` for a key no honest client sends.
    init?(clientKey: String, pool: String, userID: String, password: String) {
        guard let clientValue = BigUInt(clientKey, radix: 16), clientValue % SRPServer.modulus != 0 else {
            return nil
        }
        self.pool = pool
        self.userID = userID
        self.clientValue = clientValue
        salt = BigUInt.randomInteger(withMaximumWidth: 128)
        let secret = SRPServer.digest([Array("\(pool)\(userID):\(password)".utf8)])
        let exponent = SRPServer.number(SRPServer.digest([SRPServer.octets(salt), secret]))
        verifier = BigUInt(2).power(exponent, modulus: SRPServer.modulus)
        privateKey = BigUInt.randomInteger(withExactWidth: 256)
        let multiplier = SRPServer.number(
            SRPServer.digest([SRPServer.octets(SRPServer.modulus), [2]])
        )
        let ephemeral = BigUInt(2).power(privateKey, modulus: SRPServer.modulus)
        serverValue = (multiplier * verifier + ephemeral) % SRPServer.modulus
        secretBlock = Base64.encode((0..<64).map { _ in UInt8.random(in: 0...255) })
    }

    /// Whether the responses to `PASSWORD_VERIFIER` prove the password.
    func accepts(_ responses: JSONObject) -> Bool {
        guard responses["PASSWORD_CLAIM_SECRET_BLOCK"]?.string == secretBlock,
            let timestamp = responses["TIMESTAMP"]?.string,
            let signature = responses["PASSWORD_CLAIM_SIGNATURE"]?.string
        else { return false }
        var mac = HMAC<SHA256>(key: sessionKey)
        for part in [pool, userID] { mac.update(data: Array(part.utf8)) }
        mac.update(data: Base64.decode(secretBlock) ?? [])
        mac.update(data: Array(timestamp.utf8))
        return Base64.encode(mac.finalize()) == signature
    }

    /// The first 16 bytes of HKDF (RFC 5869), spelled out.
    private var sessionKey: SymmetricKey {
        let scramble = SRPServer.digest([SRPServer.octets(clientValue), SRPServer.octets(serverValue)])
        let scrambleNumber = SRPServer.number(scramble)
        let base =
            clientValue * verifier.power(scrambleNumber, modulus: SRPServer.modulus) % SRPServer.modulus
        let shared = base.power(privateKey, modulus: SRPServer.modulus)
        let extracted = HMAC<SHA256>.authenticationCode(
            for: SRPServer.octets(shared),
            using: SymmetricKey(data: SRPServer.octets(scrambleNumber))
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

    private static func number(_ bytes: [UInt8]) -> BigUInt {
        BigUInt(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(), radix: 16) ?? 0
    }

    /// Two's complement, big-endian: what Java's `BigInteger.toByteArray` gives, which Amazon's server hashes.
    private static func octets(_ number: BigUInt) -> [UInt8] {
        var rest = number
        var bytes: [UInt8] = []
        while rest > 0 {
            bytes.append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
        if bytes.last.map({ $0 >= 0x80 }) ?? true { bytes.append(0) }
        return bytes.reversed()
    }

    /// RFC 3526 §4: 2^3072 - 2^3008 - 1 + 2^64 * { [2^2942 pi] + 1690314 }.
    private static let modulus =
        BigUInt(
            [
                "FFFFFFFF FFFFFFFF C90FDAA2 2168C234 C4C6628B 80DC1CD1 29024E08 8A67CC74",
                "020BBEA6 3B139B22 514A0879 8E3404DD EF9519B3 CD3A431B 302B0A6D F25F1437",
                "4FE1356D 6D51C245 E485B576 625E7EC6 F44C42E9 A637ED6B 0BFF5CB6 F406B7ED",
                "EE386BFB 5A899FA5 AE9F2411 7C4B1FE6 49286651 ECE45B3D C2007CB8 A163BF05",
                "98DA4836 1C55D39A 69163FA8 FD24CF5F 83655D23 DCA3AD96 1C62F356 208552BB",
                "9ED52907 7096966D 670C354E 4ABC9804 F1746C08 CA18217C 32905E46 2E36CE3B",
                "E39E772C 180E8603 9B2783A2 EC07A28F B5C55DF0 6F4C52C9 DE2BCBF6 95581718",
                "3995497C EA956AE5 15D22618 98FA0510 15728E5A 8AAAC42D AD33170D 04507A33",
                "A85521AB DF1CBA64 ECFB8504 58DBEF0A 8AEA7157 5D060C7D B3970F85 A6E1E4C7",
                "ABF5AE8C DB0933D7 1E8C94E0 4A25619D CEE3D226 1AD2EE6B F12FFA06 D98A0864",
                "D8760273 3EC86A64 521F2B18 177B200C BBE11757 7A615D6C 770988C0 BAD946E2",
                "08E24FA0 74E5AB31 43DB5BFC E0FD108E 4B82D120 A93AD2CA FFFFFFFF FFFFFFFF",
            ]
            .joined().filter { $0 != " " },
            radix: 16
        ) ?? 0
}
