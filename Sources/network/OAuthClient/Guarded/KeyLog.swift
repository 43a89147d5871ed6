// SPDX-License-Identifier: MIT

import NIOCore
import Synchronization
import Text

/// The secrets that open what servers say in TLS, until the connection they belong to is taken care of.
///
/// BoringSSL tells them as lines of a key log, with the client's random value to tell connections apart: what a server
/// of TLS 1.3 sends is under `SERVER_TRAFFIC_SECRET_0`, everything of TLS 1.2 under the secret of `CLIENT_RANDOM`.
final class KeyLog: Sendable {
    private let lines: Mutex<[[UInt8]: [UInt8]]> = Mutex([:])
    /// Connections remembered: a few are in their handshake at a time, and each is taken out at its end.
    private static let most = 256
    private static let wanted = ["SERVER_TRAFFIC_SECRET_0 ", "CLIENT_RANDOM "]

    deinit {
        lines.withLock { lines in
            for key in lines.keys { lines[key]?.wipe() }
        }
    }

    /// Keeps `line` if an answer can be read with it.
    func note(_ line: ByteBuffer) {
        // With the end of the line, as in a file.
        let bytes = Array(line.readableBytesView.prefix { $0 != UInt8(ascii: "\n") })
        guard let label = KeyLog.wanted.first(where: { bytes.starts(with: $0.utf8) }) else { return }
        let random = bytes.dropFirst(label.utf8.count).prefix { $0 != UInt8(ascii: " ") }
        guard let key = Hex.decoded(random) else { return }
        lines.withLock { lines in
            guard lines.count < KeyLog.most else { return }
            lines[key] = bytes
        }
    }

    /// Gives out the line of the connection whose client began with `random`, and forgets it.
    func take(_ random: [UInt8]) -> [UInt8]? {
        lines.withLock { $0.removeValue(forKey: random) }
    }
}
