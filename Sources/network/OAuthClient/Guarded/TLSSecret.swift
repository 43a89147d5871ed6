// SPDX-License-Identifier: MIT

import Text

/// What opens the bytes of a server in TLS, as BoringSSL logs it.
enum TLSSecret: Equatable {
    /// Of TLS 1.3, for what the server says after the handshake (RFC 8446 §7.1).
    case traffic([UInt8])
    /// Of TLS 1.2, with the random value of the client (RFC 5246 §8.1).
    case master([UInt8], client: [UInt8])

    /// Reads `label random secret`, the last two in hexadecimal digits.
    init?(line: [UInt8]) {
        let parts = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 3, let random = Hex.decoded(parts[1]), random.count == 32,
            let secret = Hex.decoded(parts[2])
        else { return nil }
        if parts[0].elementsEqual("SERVER_TRAFFIC_SECRET_0".utf8), [32, 48].contains(secret.count) {
            self = .traffic(secret)
        } else if parts[0].elementsEqual("CLIENT_RANDOM".utf8), secret.count == 48 {
            self = .master(secret, client: random)
        } else {
            return nil
        }
    }
}
