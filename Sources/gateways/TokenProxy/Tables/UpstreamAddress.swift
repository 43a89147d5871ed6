// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// The address to which a listener's requests are forwarded.
struct UpstreamAddress: Hashable, Sendable {
    let isTLS: Bool
    /// The host in lower case, with no brackets around an IPv6 address.
    let host: String
    let port: Int
    /// The scheme, host and port.
    ///
    /// The scheme's default port is omitted.
    let origin: String
    /// The path prepended to every request path.
    ///
    /// It is empty, or begins with a slash and does not end with one.
    let prefix: [UInt8]

    /// Parses an address that `tokenagent` has checked, or returns `nil` if it is not valid.
    init?(_ text: String) {
        guard let address = ServerAddress(url: text), let port = address.place.port,
            let scheme = address.scheme, scheme == "https" || scheme == "http"
        else { return nil }
        isTLS = scheme == "https"
        let name = address.place.host
        host = name.hasPrefix("[") ? String(name.dropFirst().dropLast()) : name
        self.port = port
        origin = address.origin
        let path = text.utf8.dropFirst(scheme.utf8.count + 3).drop { $0 != UInt8(ascii: "/") }
        guard !path.contains(UInt8(ascii: "?")), !path.contains(UInt8(ascii: "#")) else { return nil }
        prefix = Array(path.last == UInt8(ascii: "/") ? path.dropLast() : path)
    }

    /// The value of `Host`.
    var authority: Substring { origin.dropFirst(isTLS ? 8 : 7) }

    /// Returns the path and query at the listener for a URL of this server.
    ///
    /// - Returns: `nil` for a URL of another server, or one above ``prefix``.
    func target(of url: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        // A URL without a scheme has that of the server (RFC 3986 §4.2).
        let own = url.starts(with: "//".utf8) ? Array("//\(authority)".utf8) : Array(origin.utf8)
        guard url.count >= own.count, url.prefix(own.count).saysTheSame(as: own[...]) else { return nil }
        let rest = url.dropFirst(own.count)
        // Other hosts may begin alike: api.example.com.evil.org, api.example.com@evil.org.
        return UpstreamAddress.endsName(rest) ? stripped(rest) : nil
    }

    /// Removes ``prefix`` from a path, query and fragment of the server.
    ///
    /// - Returns: `nil` for a path above ``prefix``, also by dot segments.
    func stripped(_ target: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let path = target.prefix { !"?#".utf8.contains($0) }
        guard target.starts(with: prefix), prefix.isEmpty || PathAmbiguity.isPlain(path) else { return nil }
        let rest = target.dropFirst(prefix.count)
        return UpstreamAddress.endsName(rest) ? rest : nil
    }

    /// Returns whether the text before `rest` is a whole host or a whole path segment.
    private static func endsName(_ rest: ArraySlice<UInt8>) -> Bool {
        rest.first.map(Array("/?#".utf8).contains) ?? true
    }
}
