// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import Text

/// The address of a listener.
enum ListenAddress: Hashable, Sendable {
    /// A Unix socket at an absolute path.
    case path(String)
    /// A literal loopback address.
    ///
    /// Port 0 selects any free port.
    case loopback(host: String, port: Int)

    /// Parses `/path`, `127.0.0.1:PORT` or `[::1]:PORT`, or returns `nil` for anything else.
    init?(_ text: String) {
        guard !text.hasPrefix("/") else {
            guard text.utf8.count <= AgentPaths.maximumSocketPathLength else { return nil }
            self = .path(text)
            return
        }
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")),
            let port = text.utf8[text.utf8.index(after: colon)...].elementsArray.decimalNumber,
            (0...65_535).contains(port)
        else { return nil }
        let host = text[..<colon]
        let address =
            host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : String(host)
        guard let place = try? SocketAddress(ipAddress: address, port: Int(port)), place.isLoopbackAddress
        else {
            return nil
        }
        self = .loopback(host: address, port: Int(port))
    }
}

extension SocketAddress {
    /// Whether the address is in 127.0.0.0/8 or ::1.
    fileprivate var isLoopbackAddress: Bool {
        guard let text = ipAddress else { return false }
        return text == "::1" || text.hasPrefix("127.")
    }
}

extension Sequence<UInt8> {
    fileprivate var elementsArray: ArraySlice<UInt8> { Array(self)[...] }
}
