// SPDX-License-Identifier: MIT

/// A forward proxy, which opens connections to other servers (CONNECT, RFC 9110 §9.3.6).
///
/// ``ProxyVariables`` selects the proxy of a host from the environment, and ``ProxyTunnel`` opens a
/// connection through a proxy.
///
/// - Entry points: ``ForwardProxy``, ``ProxyVariables``, ``ProxyTunnel``.
/// - May not: read files or run programs. The caller supplies the credentials of a proxy.
package struct ForwardProxy: Hashable, Sendable, CustomStringConvertible {
    /// Whether the connection to the proxy itself uses TLS.
    package let isTLS: Bool
    /// The host in lower case, with no brackets around an IPv6 address.
    package let host: String
    package let port: Int

    /// The maximum length of a proxy URL, in bytes.
    private static let maximumLength = 2_000

    /// The URL without a user name.
    package var description: String {
        "\(isTLS ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }

    /// Parses `http://HOST:PORT` or `https://HOST:PORT`.
    ///
    /// The default ports are 80 and 443.
    package init(_ text: String) throws(ForwardProxyURLError) {
        (self, _) = try ForwardProxy.read(text, needsScheme: true) { () throws(ForwardProxyURLError) in
            throw .hasCredentials
        }
    }

    /// Parses a URL from the environment, which may omit the scheme (`http` by default) and may contain
    /// credentials.
    ///
    /// - Returns: the proxy, and the decoded `USER:PASSWORD` if there is one.
    package static func ofEnvironment(
        _ text: String
    ) throws(ForwardProxyURLError) -> (proxy: ForwardProxy, credentials: ProxyCredentials?) {
        try read(text, needsScheme: false) {}
    }

    private init(isTLS: Bool, host: String, port: Int) {
        self.isTLS = isTLS
        self.host = host
        self.port = port
    }

    private static func read(
        _ text: String,
        needsScheme: Bool,
        _ onCredentials: () throws(ForwardProxyURLError) -> Void
    ) throws(ForwardProxyURLError) -> (ForwardProxy, ProxyCredentials?) {
        let bytes = Array(text.utf8)
        guard bytes.count <= maximumLength, bytes.allSatisfy(\.isVisibleASCII) else { throw .notAnAddress }
        var rest = bytes[...]
        var isTLS = false
        if let colon = rest.firstIndex(of: UInt8(ascii: ":")), rest[colon...].starts(with: "://".utf8) {
            switch String(decoding: rest[..<colon], as: UTF8.self).bytewise.lowercased.text {
            case "http": isTLS = false
            case "https": isTLS = true
            default: throw .otherScheme
            }
            rest = rest[colon...].dropFirst(3)
        } else if needsScheme {
            throw .otherScheme
        }
        if rest.last == UInt8(ascii: "/") { rest = rest.dropLast() }
        var credentials: ProxyCredentials?
        if let at = rest.lastIndex(of: UInt8(ascii: "@")) {
            try onCredentials()
            guard let words = PercentCoding.decoded(rest[..<at], plusIsBlank: false),
                let given = ProxyCredentials(words.utf8)
            else { throw .notAnAddress }
            credentials = given
            rest = rest[(at + 1)...]
        }
        let (host, port) = try hostAndPort(rest, defaultPort: isTLS ? 443 : 80)
        return (ForwardProxy(isTLS: isTLS, host: host, port: port), credentials)
    }

    private static func hostAndPort(
        _ text: ArraySlice<UInt8>,
        defaultPort: Int
    ) throws(ForwardProxyURLError) -> (String, Int) {
        var host = text
        var port: ArraySlice<UInt8> = []
        if text.first == UInt8(ascii: "[") {
            guard let end = text.firstIndex(of: UInt8(ascii: "]")) else { throw .notAnAddress }
            host = text[..<end].dropFirst()
            port = text[(end + 1)...]
            guard IPAddress(String(decoding: host, as: UTF8.self))?.bytes.count == 16 else {
                throw .notAnAddress
            }
        } else if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
            host = text[..<colon]
            port = text[colon...]
        }
        guard !host.isEmpty,
            host.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || "-._:".utf8.contains($0) })
        else { throw .notAnAddress }
        let name = String(decoding: host, as: UTF8.self).bytewise.lowercased.text
        guard !port.isEmpty else { return (name, defaultPort) }
        let digits = port.dropFirst()
        guard port.first == UInt8(ascii: ":"), (1...5).contains(digits.count),
            digits.allSatisfy(\.isASCIIDigit),
            let number = Int(String(decoding: digits, as: UTF8.self)), (1...65_535).contains(number)
        else { throw .notAnAddress }
        return (name, number)
    }

    /// Returns whether `host` is on this machine or in a private network, as far as its text shows.
    ///
    /// Such a host is reached directly unless a session's configuration requires a proxy. Elsewhere, where
    /// the proxy is, the same address means another machine.
    package static func isInternal(_ host: String) -> Bool {
        IPAddress(host)?.isInternal ?? LocalhostName.contains(host)
    }
}

/// The reason a text is not a valid proxy URL.
package enum ForwardProxyURLError: Error, Equatable, Sendable, CustomStringConvertible {
    case notAnAddress
    case otherScheme
    case hasCredentials

    package var description: String {
        switch self {
        case .notAnAddress: "is not a proxy URL such as \"http://proxy.example.com:3128\""
        case .otherScheme: "must begin with http:// or https:// (other proxies are not supported)"
        case .hasCredentials:
            "must not contain a user name or password "
                + Remedy.set("proxy_credentials_file").parenthesized
        }
    }
}

/// The user name and password for a proxy (RFC 7617), which never appear in messages.
package struct ProxyCredentials: Hashable, Sendable {
    /// The text `USER:PASSWORD`.
    package let text: String
    /// The value of `Proxy-Authorization`.
    package var field: String { "Basic \(Base64.encoded(text.utf8))" }

    /// The maximum length of the text, in bytes.
    private static let maximumLength = 4_096

    /// Parses `USER:PASSWORD`, or returns `nil` without a colon, with a control character, or if too long.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count <= ProxyCredentials.maximumLength, bytes.contains(UInt8(ascii: ":")),
            bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
            let text = String(validating: bytes, as: UTF8.self)
        else { return nil }
        self.text = text
    }
}
