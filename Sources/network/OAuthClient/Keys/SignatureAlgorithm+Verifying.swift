// SPDX-License-Identifier: MIT

import Crypto
import CryptoExtras
import Text

extension SignatureAlgorithm {
    /// The padding of RSA signatures (RFC 7518 §3.3, §3.5).
    var padding: _RSA.Signing.Padding {
        switch self {
        case .ps256, .ps384, .ps512: .PSS
        default: .insecurePKCS1v1_5
        }
    }

    /// Returns whether `key` made the signature of `token`, or `false` if the key cannot be used.
    func verify(_ token: JWTParts, with key: KeySet.Material) -> Bool {
        (try? isValid(token.signature, of: token.signedBytes, by: key)) ?? false
    }

    private func isValid(
        _ signature: [UInt8],
        of text: [UInt8],
        by key: KeySet.Material
    ) throws -> Bool {
        switch key {
        case .rsa(let modulus, let exponent):
            guard let modulus = KeySet.bytes(of: modulus), let exponent = KeySet.bytes(of: exponent) else {
                return false
            }
            let key = try _RSA.Signing.PublicKey(n: modulus, e: exponent)
            return isValid(signature, of: text, by: key)
        case .elliptic(let curve, let x, let y):
            guard let x = KeySet.bytes(of: x), let y = KeySet.bytes(of: y) else { return false }
            return try curve.isValid(signature, of: text, by: [0x04] + x + y)
        case .edwards(let x):
            guard let x = KeySet.bytes(of: x) else { return false }
            return try Curve25519.Signing.PublicKey(rawRepresentation: x)
                .isValidSignature(signature, for: text)
        }
    }

    private func isValid(
        _ signature: [UInt8],
        of text: [UInt8],
        by key: _RSA.Signing.PublicKey
    ) -> Bool {
        let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
        return switch self {
        case .rs256, .ps256: key.isValidSignature(signature, for: SHA256.hash(data: text), padding: padding)
        case .rs384, .ps384: key.isValidSignature(signature, for: SHA384.hash(data: text), padding: padding)
        case .rs512, .ps512: key.isValidSignature(signature, for: SHA512.hash(data: text), padding: padding)
        default: false
        }
    }

    /// Returns whether the signature of `token` is a MAC with `secret` as the key.
    func verify(_ token: JWTParts, secret: [UInt8]) -> Bool {
        switch self {
        case .hs256: token.hasCode(HMAC<SHA256>.self, under: secret)
        case .hs384: token.hasCode(HMAC<SHA384>.self, under: secret)
        case .hs512: token.hasCode(HMAC<SHA512>.self, under: secret)
        default: false
        }
    }
}

extension JWTParts {
    fileprivate func hasCode<Hash>(_: HMAC<Hash>.Type, under secret: [UInt8]) -> Bool {
        HMAC<Hash>.isValidAuthenticationCode(
            signature,
            authenticating: signedBytes,
            using: SymmetricKey(data: secret)
        )
    }
}

extension KeySet.Curve {
    /// Returns whether the key at `point` made `signature`.
    ///
    /// The point is uncompressed (SEC 1 §2.3.3).
    fileprivate func isValid(_ signature: [UInt8], of text: [UInt8], by point: [UInt8]) throws -> Bool {
        switch self {
        case .p256:
            try P256.Signing.PublicKey(x963Representation: point)
                .isValidSignature(P256.Signing.ECDSASignature(rawRepresentation: signature), for: text)
        case .p384:
            try P384.Signing.PublicKey(x963Representation: point)
                .isValidSignature(P384.Signing.ECDSASignature(rawRepresentation: signature), for: text)
        case .p521:
            try P521.Signing.PublicKey(x963Representation: point)
                .isValidSignature(P521.Signing.ECDSASignature(rawRepresentation: signature), for: text)
        }
    }
}
