// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// Where a listener's requests go.
struct UpstreamAddress: Hashable, Sendable {
    let isTLS: Bool
    /// Lower case; an IPv6 address without brackets.
    let host: String
    let port: Int
    /// Scheme, host and port, the port where it is not the scheme's own.
    let origin: String
    /// Begins with a slash and does not end with one, or is empty: it stands before every path.
    let prefix: [UInt8]

    /// Takes an address apart that the agent's program has checked; `nil` if it cannot be one.
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

    /// What goes into `Host`.
    var authority: Substring { origin.dropFirst(isTLS ? 8 : 7) }

    /// The path and query at the listener of an address of this server; `nil` if it is one of another server, or above
    /// ``prefix``.
    func target(of url: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        // Without a scheme it has that of the server (RFC 3986 §4.2).
        let own = url.starts(with: "//".utf8) ? Array("//\(authority)".utf8) : Array(origin.utf8)
        guard url.count >= own.count, url.prefix(own.count).saysTheSame(as: own[...]) else { return nil }
        let rest = url.dropFirst(own.count)
        // Behind another host that begins alike: api.example.com.evil.org, api.example.com@evil.org.
        return UpstreamAddress.endsName(rest) ? stripped(rest) : nil
    }

    /// The target at the listener of a path, query and fragment at the server; `nil` above ``prefix``, also by dot segments.
    func stripped(_ target: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let path = target.prefix { !"?#".utf8.contains($0) }
        guard target.starts(with: prefix), prefix.isEmpty || PathSyntax.isPlain(path) else { return nil }
        let rest = target.dropFirst(prefix.count)
        return UpstreamAddress.endsName(rest) ? rest : nil
    }

    /// Whether what stands before `rest` is a whole host or a whole segment of a path.
    private static func endsName(_ rest: ArraySlice<UInt8>) -> Bool {
        rest.first.map(Array("/?#".utf8).contains) ?? true
    }
}
