// SPDX-License-Identifier: MIT

import Crypto

/// Opens the records of one server, one after the other (RFC 8446 §5.2–5.3, RFC 5246 §6.2.3.3, RFC 5288, RFC 7905).
struct RecordCipher {
    private enum Algorithm {
        case aesGCM
        case chaChaPoly
    }

    private enum Digest {
        case sha256
        case sha384
    }

    private let algorithm: Algorithm
    private let digest: Digest
    private let keyCount: Int
    /// TLS 1.2 with AES-GCM sends eight bytes of each nonce along.
    private let sendsNonce: Bool
    private var secret: [UInt8]
    private var key: SymmetricKey
    private var nonce: [UInt8]
    private var number: UInt64 = 0

    private static let tagCount = 16

    /// Opens the records of a server; `nil` for a suite that does not authenticate, or of another version than the secret.
    ///
    /// - Parameters:
    ///   - suite: the cipher suite that the server has chosen.
    ///   - secret: what opens its records.
    ///   - server: its random value.
    init?(_ suite: UInt16, _ secret: TLSSecret, server: [UInt8]) {
        switch suite {
        // TLS_AES_128_GCM_SHA256, TLS_ECDHE_{ECDSA,RSA}_…, TLS_RSA_…
        case 0x1301, 0xC02B, 0xC02F, 0x009C: (algorithm, digest, keyCount) = (.aesGCM, .sha256, 16)
        // TLS_AES_256_GCM_SHA384 and the same.
        case 0x1302, 0xC02C, 0xC030, 0x009D: (algorithm, digest, keyCount) = (.aesGCM, .sha384, 32)
        // TLS_CHACHA20_POLY1305_SHA256, TLS_ECDHE_{RSA,ECDSA}_….
        case 0x1303, 0xCCA8, 0xCCA9: (algorithm, digest, keyCount) = (.chaChaPoly, .sha256, 32)
        default: return nil
        }
        switch secret {
        case .traffic(let traffic):
            guard suite >> 8 == 0x13, traffic.count == (digest == .sha256 ? 32 : 48) else { return nil }
            self.secret = traffic
            sendsNonce = false
            key = SymmetricKey(data: [0])
            nonce = []
            (key, nonce) = trafficKeys
        case .master(let master, let client):
            guard suite >> 8 != 0x13 else { return nil }
            self.secret = []
            sendsNonce = algorithm == .aesGCM
            let fixedCount = sendsNonce ? 4 : 12
            // Both keys, then both nonces; the client's come first (RFC 5246 §6.3).
            let block = RecordCipher.keyBlock(
                master,
                Array("key expansion".utf8) + server + client,
                2 * (keyCount + fixedCount),
                digest
            )
            key = SymmetricKey(data: block[keyCount..<2 * keyCount])
            nonce = Array(block[(2 * keyCount + fixedCount)...])
        }
    }

    /// Goes on to the next secret of TLS 1.3.
    mutating func update() {
        secret = RecordCipher.expanded(secret, "traffic upd", secret.count, digest)
        (key, nonce) = trafficKeys
        number = 0
    }

    /// Opens the next record of TLS 1.3, bound to its head; `nil`: it is not the next one.
    mutating func open(_ content: ArraySlice<UInt8>, associated head: [UInt8]) -> [UInt8]? {
        open(content, head, RecordCipher.mixed(nonce, number))
    }

    /// Opens the next record of TLS 1.2.
    mutating func open(_ content: ArraySlice<UInt8>, kindAndVersion: [UInt8]) -> [UInt8]? {
        let sentCount = sendsNonce ? 8 : 0
        guard content.count >= sentCount + RecordCipher.tagCount else { return nil }
        let count = content.count - sentCount - RecordCipher.tagCount
        let associated =
            RecordCipher.bytes(number) + kindAndVersion
            + [UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
        let full = sendsNonce ? nonce + content.prefix(sentCount) : RecordCipher.mixed(nonce, number)
        return open(content.dropFirst(sentCount), associated, full)
    }

    private mutating func open(
        _ content: ArraySlice<UInt8>,
        _ associated: [UInt8],
        _ nonce: [UInt8]
    ) -> [UInt8]? {
        guard content.count >= RecordCipher.tagCount else { return nil }
        let text = content.dropLast(RecordCipher.tagCount)
        let tag = content.suffix(RecordCipher.tagCount)
        let opened: [UInt8]?
        switch algorithm {
        case .aesGCM:
            let box = try? AES.GCM.SealedBox(nonce: AES.GCM.Nonce(data: nonce), ciphertext: text, tag: tag)
            opened = box.flatMap { try? AES.GCM.open($0, using: key, authenticating: associated) }.map(
                Array.init
            )
        case .chaChaPoly:
            let box = try? ChaChaPoly.SealedBox(
                nonce: ChaChaPoly.Nonce(data: nonce),
                ciphertext: text,
                tag: tag
            )
            opened = box.flatMap { try? ChaChaPoly.open($0, using: key, authenticating: associated) }
                .map(Array.init)
        }
        if opened != nil { number += 1 }
        return opened
    }
}

// MARK: Keys

extension RecordCipher {
    /// RFC 8446 §7.3.
    private var trafficKeys: (SymmetricKey, [UInt8]) {
        let key = RecordCipher.expanded(secret, "key", keyCount, digest)
        return (SymmetricKey(data: key), RecordCipher.expanded(secret, "iv", 12, digest))
    }

    /// HKDF-Expand-Label with an empty context (RFC 8446 §7.1).
    private static func expanded(
        _ secret: [UInt8],
        _ label: String,
        _ count: Int,
        _ digest: Digest
    ) -> [UInt8] {
        let name = Array("tls13 ".utf8) + label.utf8
        let info =
            [UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
            + [UInt8(clamping: name.count)] + name + [0]
        switch digest {
        case .sha256:
            return bytes(HKDF<SHA256>.expand(pseudoRandomKey: secret, info: info, outputByteCount: count))
        case .sha384:
            return bytes(HKDF<SHA384>.expand(pseudoRandomKey: secret, info: info, outputByteCount: count))
        }
    }

    /// P_hash (RFC 5246 §5).
    private static func keyBlock(
        _ secret: [UInt8],
        _ seed: [UInt8],
        _ count: Int,
        _ digest: Digest
    ) -> [UInt8] {
        var block: [UInt8] = []
        var step = seed
        while block.count < count {
            step = authenticationCode(step, secret, digest)
            block += authenticationCode(step + seed, secret, digest)
        }
        return Array(block.prefix(count))
    }

    private static func authenticationCode(_ bytes: [UInt8], _ key: [UInt8], _ digest: Digest) -> [UInt8] {
        let key = SymmetricKey(data: key)
        return switch digest {
        case .sha256: Array(HMAC<SHA256>.authenticationCode(for: bytes, using: key))
        case .sha384: Array(HMAC<SHA384>.authenticationCode(for: bytes, using: key))
        }
    }

    /// The nonce of record `number` (RFC 8446 §5.3).
    private static func mixed(_ nonce: [UInt8], _ number: UInt64) -> [UInt8] {
        zip(nonce, [0, 0, 0, 0] + bytes(number)).map { $0 ^ $1 }
    }

    private static func bytes(_ number: UInt64) -> [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
    }

    private static func bytes(_ key: SymmetricKey) -> [UInt8] {
        unsafe key.withUnsafeBytes { unsafe Array($0) }
    }
}
