// SPDX-License-Identifier: MIT

import Text

/// A redirect URI on this machine that the agent can listen on (RFC 8252 §7.3).
package struct LoopbackRedirect: Equatable, Sendable {
    /// The host in lower case, one of ``hosts``.
    package var host: String
    /// The port, or 0 for any free one.
    package var port: Int
    /// The path, which begins with `/`.
    package var path: String
    /// Whether the response may come as a form in a POST (OAuth 2.0 Form Post Response Mode §2).
    package var takesForms = false

    /// The names that always lead to this machine.
    package static let hosts = ["127.0.0.1", "[::1]", "localhost"]
    package static let standardPath = "/callback"

    /// Returns the redirect URI that is used unless another one is registered at the server.
    package static func standard(port: Int) -> LoopbackRedirect {
        LoopbackRedirect(host: hosts[0], port: port, path: standardPath)
    }

    /// The addresses to listen on.
    ///
    /// A browser that is given `localhost` may try either one first.
    package var addresses: [String] {
        switch host {
        case "localhost": ["127.0.0.1", "::1"]
        case "[::1]": ["::1"]
        default: [host]
        }
    }

    /// The only accepted `Host`, which prevents DNS rebinding.
    ///
    /// Browsers omit port 80.
    package var authority: String { port == 80 ? host : "\(host):\(port)" }
}

extension LoopbackRedirect {
    /// Parses a redirect URI, or returns `nil` if it does not lead to this machine.
    package init?(_ uri: String) {
        let scheme = "http://"
        guard uri.bytewise.lowercased.hasPrefix(scheme.bytewise) else { return nil }
        let rest = uri.utf8.dropFirst(scheme.utf8.count)
        let isEnd = { (byte: UInt8) in byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") }
        let authority = Substring(rest.prefix { !isEnd($0) }).bytewise.lowercased
        guard let host = LoopbackRedirect.hosts.first(where: { authority.hasPrefix($0.bytewise) }) else {
            return nil
        }
        let path = rest.drop { !isEnd($0) }.prefix { $0 != UInt8(ascii: "?") }
        self.init(host: host, port: 80, path: path.isEmpty ? "/" : String(Substring(path)))
        let tail = authority.utf8.dropFirst(host.utf8.count)
        guard let colon = tail.first else { return }
        let digits = Substring(tail.dropFirst())
        guard colon == UInt8(ascii: ":"), digits.utf8.allSatisfy(\.isASCIIDigit), let port = Int(digits),
            (1...65_535).contains(port)
        else { return nil }
        self.port = port
    }
}
