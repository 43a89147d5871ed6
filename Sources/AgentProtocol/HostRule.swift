// SPDX-License-Identifier: MIT

/// One entry of `hosts`: which servers a session's tokens are for, and as which user they are shown there.
///
/// `git.example.com`, `*.example.com` for everything below it, `example.com:8443` for one port, and with a user name
/// for Basic authentication in front: `oauth2@git.example.com`.
package struct HostRule: Equatable, Sendable {
    /// For Basic authentication; nil leaves it to the command.
    package var user: String?
    /// Lower case; with ``coversSubdomains`` what is behind `*.`.
    package var host: String
    /// Nil: any port.
    package var port: Int?
    package var coversSubdomains: Bool

    /// Reads one entry; nil if it is none.
    package init?(_ text: String) {
        var rest = text[...]
        if let at = rest.firstIndex(of: "@") {
            let name = String(rest[..<at])
            let isPlain = name.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ":") }
            guard name.isEmpty == false, isPlain else { return nil }
            user = name
            rest = rest[rest.index(after: at)...]
        }
        coversSubdomains = rest.hasPrefix("*.")
        if coversSubdomains { rest = rest.dropFirst(2) }
        guard let place = HostName(String(rest)) else { return nil }
        host = place.host
        port = place.port
    }

    /// How closely it names `place`: the higher the closer; nil if it does not.
    package func closeness(to place: HostName) -> Int? {
        if let port, port != place.port { return nil }
        let named = port == nil ? 0 : 1
        if coversSubdomains {
            guard place.host.hasSuffix("." + host) else { return nil }
            return 2 * host.utf8.count + named
        }
        // Closer than any pattern: a host name has at most 253 bytes.
        return place.host == host ? 1024 + named : nil
    }
}

/// A server as other programs name it: a host, perhaps with a port.
package struct HostName: Equatable, Sendable {
    /// Lower case.
    package var host: String
    package var port: Int?

    /// Reads `host` or `host:port`; nil if it is neither.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts[0].lowercased()
        guard name.isEmpty == false, name.utf8.count <= 253, name.hasPrefix(".") == false,
            name.utf8.allSatisfy(HostName.isAllowed)
        else { return nil }
        host = name
        guard parts.count == 2 else { return }
        guard let number = Int(parts[1]), (1...65_535).contains(number) else { return nil }
        port = number
    }

    /// The server of an address such as `https://host:port/path`, or of a bare `host:port/path`.
    package init?(url: String) {
        let address = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        let authority = address.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        self.init(String(authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""))
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
