// SPDX-License-Identifier: MIT

import Crypto
import ModularArithmetic
import Text

/// The client's half of Secure Remote Password, in Cognito's variant.
///
/// The protocol is SRP-6a (RFC 5054) over a 3072-bit group with SHA-256. The format of the hashed numbers and
/// the derivation of the key are Amazon's own.
struct SRPClient {
    /// The values in the pool's `PASSWORD_VERIFIER` challenge.
    struct Challenge: Equatable {
        /// The `USER_ID_FOR_SRP`.
        var userID: String
        /// The salt, with the most significant byte first.
        var salt: [UInt8]
        /// The server's public key `SRP_B`.
        var serverKey: Residue
        var secretBlock: [UInt8]
    }

    private static let generator = Residue(2)

    private let privateKey: [UInt8]
    private let publicValue: Residue

    /// Creates a private key of 256 random bits, as RFC 5054 §3.1 requires.
    init() {
        self.init(privateKey: (0..<32).map { _ in UInt8.random(in: 0...255) })
    }

    init(privateKey: [UInt8]) {
        self.privateKey = privateKey
        publicValue = SRPClient.generator.power(privateKey)
    }

    /// The client's public key `SRP_A`, in hexadecimal digits.
    var publicKey: String { HexNumber.encoded(publicValue.bytes) }

    /// Returns the `PASSWORD_CLAIM_SIGNATURE`.
    ///
    /// - Parameters:
    ///   - challenge: The challenge as received.
    ///   - password: The password in UTF-8.
    ///   - pool: The name of the pool without its region.
    ///   - timestamp: The timestamp that is sent with the signature.
    /// - Returns: The signature in Base64, or `nil` if the server's values are unsafe for a proof.
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
        let scramble = SRPClient.hash(publicValue.bytes.padded + challenge.serverKey.bytes.padded)
        // A key of zero would make the result independent of the password (RFC 5054 §2.5.4).
        guard !challenge.serverKey.isZero, scramble.contains(where: { $0 != 0 }) else { return nil }
        var identity = SHA256()
        identity.update(data: Array((pool + challenge.userID + ":").utf8))
        unsafe identity.update(bufferPointer: password)
        let exponent = SRPClient.hash(challenge.salt.padded + Array(identity.finalize()))
        let generator = SRPClient.generator
        guard let multiplier = Residue(bigEndian: SRPClient.hash(Residue.prime.padded + generator.bytes))
        else {
            return nil
        }
        let base = challenge.serverKey - multiplier * generator.power(exponent)
        let secret = base.power(privateKey) * base.power(scramble).power(exponent)
        return HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret.bytes.padded),
            salt: scramble.padded,
            info: Array("Caldera Derived Key".utf8),
            outputByteCount: 16
        )
    }

    private static func hash(_ bytes: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: bytes))
    }
}

extension [UInt8] {
    /// The number as Amazon hashes it: no leading zeros, except for one if the first bit is set.
    var padded: [UInt8] {
        let significant = drop { $0 == 0 }
        return (significant.first ?? 0x80) >= 0x80 ? [0] + significant : Array(significant)
    }
}

/// Numbers in hexadecimal digits, written without leading zeros.
enum HexNumber {
    static func encoded(_ bytes: [UInt8]) -> String {
        String(Hex.encoded(bytes).drop { $0 == "0" })
    }

    /// Decodes 1 to 800 digits, with the most significant byte first, or returns `nil` for any other text.
    static func decoded(_ text: String) -> [UInt8]? {
        guard (1...800).contains(text.utf8.count) else { return nil }
        return Hex.decoded(text.utf8.count % 2 == 0 ? Array(text.utf8) : [UInt8(ascii: "0")] + text.utf8)
    }
}
