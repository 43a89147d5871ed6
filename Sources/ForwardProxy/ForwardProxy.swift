// SPDX-License-Identifier: MIT

import ServerCertificates
import Text

/// A forward proxy: a server that opens connections to other servers (CONNECT, RFC 9110 §9.3.6).
///
/// ``ProxyVariables`` decides for which hosts the environment names one, and ``ProxyTunnel`` asks it for a connection.
///
/// - May not: read files or run programs; the caller supplies the credentials of a proxy.
package struct ForwardProxy: Hashable, Sendable, CustomStringConvertible {
    /// Whether the proxy itself is spoken to over TLS.
    package let isTLS: Bool
    /// Lower case; an IPv6 address without its brackets.
    package let host: String
    package let port: Int

    /// Bytes of the longest address.
    private static let maximumLength = 2_000

    /// The address without a user name, as people write it.
    package var description: String {
        "\(isTLS ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }

    /// Reads `http://HOST:PORT` or `https://HOST:PORT`; without a port it is 80 or 443.
    package init(_ text: String) throws(ForwardProxyURLError) {
        (self, _) = try ForwardProxy.read(text, needsScheme: true) { () throws(ForwardProxyURLError) in
            throw .hasCredentials
        }
    }

    /// Reads an address of the environment, which may name no scheme (`http` then) and may hold credentials.
    ///
    /// - Returns: the proxy, and `USER:PASSWORD` without escapes if it stands there.
    static func ofEnvironment(
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
        if let mark = rest.firstRange(of: Array("://".utf8)) {
            switch String(decoding: rest[..<mark.lowerBound], as: UTF8.self).bytewise.lowercased.text {
            case "http": isTLS = false
            case "https": isTLS = true
            default: throw .otherScheme
            }
            rest = rest[mark.upperBound...]
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

    /// Whether `host` is on this machine or in a private network, as far as its text tells.
    ///
    /// Such a host is not reached through a proxy unless a session says so: a proxy is elsewhere, where the same address
    /// means another machine.
    package static func isInternal(_ host: String) -> Bool {
        IPAddress(host)?.isInternal ?? LoopbackName.contains(host)
    }
}

/// Why a text is not the address of a proxy.
package enum ForwardProxyURLError: Error, Equatable, Sendable, CustomStringConvertible {
    case notAnAddress
    case otherScheme
    case hasCredentials

    package var description: String {
        switch self {
        case .notAnAddress: "is not the address of a proxy, such as \"http://proxy.example.com:3128\""
        case .otherScheme: "must begin with http:// or https:// (no other proxies are supported)"
        case .hasCredentials:
            "must not contain a user name or password: write them to a file and set proxy_credentials_file"
        }
    }
}

/// A user name and a password for a proxy (RFC 7617), which no message shows.
package struct ProxyCredentials: Hashable, Sendable {
    /// As `USER:PASSWORD`.
    package let text: String
    /// The value of `Proxy-Authorization`.
    package var field: String { "Basic \(Base64.encoded(text.utf8))" }

    /// Bytes of the longest pair.
    private static let maximumLength = 4_096

    /// Takes `USER:PASSWORD`; `nil` if there is no colon, or a control character.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count <= ProxyCredentials.maximumLength, bytes.contains(UInt8(ascii: ":")),
            bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
            let text = String(validating: bytes, as: UTF8.self)
        else { return nil }
        self.text = text
    }
}
