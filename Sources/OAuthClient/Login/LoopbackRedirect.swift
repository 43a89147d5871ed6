// SPDX-License-Identifier: MIT

import Text

/// A place on this machine that a redirect leads to, where we can listen for it (RFC 8252 §7.3).
struct LoopbackRedirect: Equatable, Sendable {
    /// In lower case, one of ``hosts``.
    var host: String
    /// 0: any free one.
    var port: Int
    /// Begins with `/`.
    var path: String
    /// The answer may come as a form in a POST (OAuth 2.0 Form Post Response Mode §2).
    var takesForms = false

    /// The names of this machine that nobody else answers to.
    static let hosts = ["127.0.0.1", "[::1]", "localhost"]
    static let standardPath = "/callback"

    /// Where the answer comes unless the server knows us by another address.
    static func standard(port: Int) -> LoopbackRedirect {
        LoopbackRedirect(host: hosts[0], port: port, path: standardPath)
    }

    /// The addresses to listen on; a browser that is told `localhost` may try either one first.
    var addresses: [String] {
        switch host {
        case "localhost": ["127.0.0.1", "::1"]
        case "[::1]": ["::1"]
        default: [host]
        }
    }

    /// The only `Host` we answer to, against DNS rebinding; browsers leave port 80 out.
    var authority: String { port == 80 ? host : "\(host):\(port)" }
}

extension LoopbackRedirect {
    /// The place that a redirect URI names; `nil`: it is none of this machine's.
    init?(_ uri: String) {
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
