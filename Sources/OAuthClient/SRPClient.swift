// SPDX-License-Identifier: MIT

import BigInt
import Crypto

/// The client's half of Secure Remote Password as Cognito speaks it: SRP-6a (RFC 5054) over a 3072-bit
/// group with SHA-256, numbers hashed in a form and a key derived in a way of Amazon's own.
struct SRPClient {
    /// The prime of RFC 3526 §4, which RFC 5054 uses as well; with Amazon its generator is 2.
    static let prime =
        BigUInt(
            """
            FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD\
            EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED\
            EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F\
            83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3B\
            E39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA0510\
            15728E5A8AAAC42DAD33170D04507A33A85521ABDF1CBA64ECFB850458DBEF0A8AEA71575D060C7DB3970F85A6E1E4C7\
            ABF5AE8CDB0933D71E8C94E04A25619DCEE3D2261AD2EE6BF12FFA06D98A0864D87602733EC86A64521F2B18177B200C\
            BBE117577A615D6C770988C0BAD946E208E24FA074E5AB3143DB5BFCE0FD108E4B82D120A93AD2CAFFFFFFFFFFFFFFFF
            """,
            radix: 16
        ) ?? 0
    static let generator = BigUInt(2)

    /// What the pool sent in its `PASSWORD_VERIFIER` challenge.
    struct Challenge: Equatable {
        /// `USER_ID_FOR_SRP`.
        var userID: String
        var salt: BigUInt
        /// `SRP_B`.
        var serverKey: BigUInt
        var secretBlock: [UInt8]
    }

    private let privateKey: BigUInt
    /// `SRP_A`, in hexadecimal digits.
    let publicKey: String
    private let publicValue: BigUInt

    /// 256 random bits are what RFC 5054 §3.1 asks for.
    init() {
        var generator = SystemRandomNumberGenerator()
        self.init(privateKey: BigUInt.randomInteger(withExactWidth: 256, using: &generator))
    }

    init(privateKey: BigUInt) {
        self.privateKey = privateKey
        publicValue = SRPClient.generator.power(privateKey, modulus: SRPClient.prime)
        publicKey = String(publicValue, radix: 16)
    }

    /// `PASSWORD_CLAIM_SIGNATURE`, or `nil` when the server's values are not fit for a proof.
    ///
    /// - Parameters:
    ///   - challenge: as received.
    ///   - password: in UTF-8.
    ///   - pool: the name of the pool, without its region.
    ///   - timestamp: as it is sent beside the signature.
    /// - Returns: the signature in Base64.
    func signature(
        _ challenge: Challenge,
        password: UnsafeRawBufferPointer,
        pool: String,
        timestamp: String
    ) -> String? {
        guard let key = unsafe sharedKey(challenge, password: password, pool: pool) else { return nil }
        var signature = HMAC<SHA256>(key: key)
        signature.update(data: Array((pool + challenge.userID).utf8))
        signature.update(data: challenge.secretBlock)
        signature.update(data: Array(timestamp.utf8))
        return Base64.encoded(signature.finalize())
    }

    private func sharedKey(
        _ challenge: Challenge,
        password: UnsafeRawBufferPointer,
        pool: String
    ) -> SymmetricKey? {
        let prime = SRPClient.prime
        // RFC 5054 §2.5.4: such values would make the key independent of the password.
        guard challenge.serverKey % prime != 0 else { return nil }
        let scramble = SRPClient.hash(publicValue.padded + challenge.serverKey.padded)
        guard scramble != 0 else { return nil }
        var identity = SHA256()
        identity.update(data: Array((pool + challenge.userID + ":").utf8))
        unsafe identity.update(bufferPointer: password)
        let exponent = SRPClient.hash(challenge.salt.padded + Array(identity.finalize()))
        let multiplier = SRPClient.hash(prime.padded + SRPClient.generator.padded)
        let verifier = SRPClient.generator.power(exponent, modulus: prime)
        let base = (challenge.serverKey + prime * multiplier - multiplier * verifier) % prime
        let secret = base.power(privateKey + scramble * exponent, modulus: prime)
        return HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret.padded),
            salt: scramble.padded,
            info: Array("Caldera Derived Key".utf8),
            outputByteCount: 16
        )
    }

    /// A number a server wrote in hexadecimal digits, of a size that fits the group.
    static func number(hexadecimal text: String) -> BigUInt? {
        (1...800).contains(text.utf8.count) ? BigUInt(text, radix: 16) : nil
    }

    private static func hash(_ bytes: [UInt8]) -> BigUInt {
        BigUInt(bigEndian: Array(SHA256.hash(data: bytes)))
    }
}

extension BigUInt {
    init(bigEndian bytes: [UInt8]) {
        self = bytes.reduce(into: 0) { number, byte in
            number <<= 8
            number |= BigUInt(byte)
        }
    }

    /// Big-endian bytes with a leading zero where the first bit is set, as Amazon hashes numbers.
    var padded: [UInt8] {
        var bytes: [UInt8] = []
        for word in words.reversed() {
            for shift in stride(from: Word.bitWidth - 8, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> Word(shift)))
            }
        }
        let significant = bytes.drop { $0 == 0 }
        return (significant.first ?? 0x80) >= 0x80 ? [0] + significant : Array(significant)
    }
}
