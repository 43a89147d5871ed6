// SPDX-License-Identifier: MIT

import NIOSSL

/// The rejection of certificates that are too weak to trust although their signature is valid.
///
/// The TLS library accepts any chain that it can verify. Browsers have rejected short RSA keys since 2014 and
/// SHA-1 since 2017 (CA/Browser Forum, Baseline Requirements §6.1.5 and §7.1.3.2). Only the server's own
/// certificate is checked.
package enum CertificateStrength {
    /// The minimum length of an RSA key, in bits.
    static let minimumModulus = 2048

    /// Returns the weakness as a sentence, or `nil` for a strong certificate.
    package static func weakness(of certificate: NIOSSLCertificate) throws -> String? {
        guard let signature = signatureAlgorithm(try certificate.toDERBytes()) else {
            return "the server's certificate cannot be read"
        }
        if outdatedSignatures.contains(signature) {
            return "the server's certificate is signed with SHA-1 or older"
        }
        let key = try certificate.extractPublicKey().toSPKIBytes()
        guard let bits = modulusBits(key), bits < minimumModulus else { return nil }
        return "the server's RSA key has only \(bits) bits"
    }

    /// RSA with MD2, MD5 and SHA-1 (RFC 8017 §A.2.4), DSA and ECDSA with SHA-1 (RFC 3279 §2.2).
    private static let outdatedSignatures: [[UInt8]] =
        [2, 4, 5].map { [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, $0] } + [
            [0x2A, 0x86, 0x48, 0xCE, 0x38, 0x04, 0x03], [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x01],
        ]
    private static let rsaEncryption: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]

    /// Returns the identifier in `signatureAlgorithm` of a certificate (RFC 5280 §4.1).
    package static func signatureAlgorithm(_ certificate: [UInt8]) -> [UInt8]? {
        var outer = DERReader(certificate[...])
        guard var fields = outer.sequence(), fields.next() != nil, var algorithm = fields.sequence(),
            let identifier = algorithm.next(), identifier.tag == DERReader.objectIdentifier
        else { return nil }
        return Array(identifier.content)
    }

    /// Returns the length of an RSA modulus in a SubjectPublicKeyInfo, or `nil` for other keys.
    static func modulusBits(_ key: [UInt8]) -> Int? {
        var outer = DERReader(key[...])
        guard var fields = outer.sequence(), var algorithm = fields.sequence(),
            let identifier = algorithm.next(), Array(identifier.content) == rsaEncryption,
            let bits = fields.next(), bits.tag == DERReader.bitString
        else { return nil }
        // The first byte of a bit string is the number of unused bits in its last byte.
        var numbers = DERReader(bits.content.dropFirst())
        guard var pair = numbers.sequence(), let modulus = pair.next(), modulus.tag == DERReader.integer
        else {
            return nil
        }
        let significant = modulus.content.drop { $0 == 0 }
        guard let first = significant.first else { return 0 }
        return significant.count * 8 - first.leadingZeroBitCount
    }
}
