// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// An absolute `https` or `http` URL that is safe to send secrets to, as far as its text can tell.
///
/// The text is ASCII without blanks, user information or fragment (RFC 6749 §3.1–3.2). A query is kept. Plain
/// `http` is accepted only for this machine: a literal loopback address, `localhost` or a name below it.
package struct EndpointURL: Hashable, Sendable, CustomStringConvertible {
    /// The URL as written.
    package let description: String
    package let isTLS: Bool
    /// The host in lower case.
    ///
    /// An IPv6 address has no brackets.
    package let host: String
    /// The port, by default 443 with TLS and 80 without.
    package let port: Int
    /// The path, which begins with `/` or is empty.
    package let path: String
    /// The query without the `?`.
    package let query: String?

    /// The maximum length in bytes: the URI length that every HTTP server should support (RFC 9110 §4.1).
    package static let longest = 8_000

    /// Parses and checks `text`.
    ///
    /// - Throws: The reason `text` cannot be used as an endpoint.
    package init(_ text: String) throws(EndpointURLError) {
        let bytes = text.utf8
        guard bytes.count <= EndpointURL.longest else { throw .tooLong }
        guard !bytes.isEmpty, bytes.allSatisfy(\.isURLByte),
            let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            bytes[colon...].starts(with: "://".utf8)
        else { throw .notAURL }
        switch text[..<colon].lowercased() {
        case "https": isTLS = true
        case "http": isTLS = false
        default: throw .wrongScheme
        }
        guard !bytes.contains(UInt8(ascii: "#")) else { throw .hasFragment }
        let rest = text[bytes.index(colon, offsetBy: 3)...]
        let authorityEnd =
            rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        let authority = rest[..<authorityEnd]
        guard !authority.utf8.contains(UInt8(ascii: "@")) else { throw .hasUserInformation }
        let tail = rest[authorityEnd...]
        let queryStart = tail.utf8.firstIndex(of: UInt8(ascii: "?"))
        description = text
        (host, port) = try EndpointURL.split(authority, defaultPort: isTLS ? 443 : 80)
        path = String(tail[..<(queryStart ?? tail.endIndex)])
        query = queryStart.map { String(tail[$0...].dropFirst()) }
        guard isTLS || isLoopback else { throw .notSecure }
    }

    /// Whether the host is this machine, as far as its text tells.
    package var isLoopback: Bool { IPAddress(host)?.isLoopback ?? LocalhostName.contains(host) }

    /// Whether the host is in a private network, as far as its text tells.
    package var isInternal: Bool { IPAddress(host)?.isInternal ?? LocalhostName.contains(host) }

    /// The addresses to connect to, in this order.
    ///
    /// `nil` means the addresses that a resolver returns for the host.
    package var addresses: [String?] { LocalhostName.contains(host) ? LocalhostName.addresses : [nil] }

    /// The scheme, host and port, which must not change if two URLs are to name the same server.
    package var origin: String {
        "\(isTLS ? "https" : "http")://\(hostAndPort)"
    }

    /// The URL as written, but with the host in lower case.
    package var normalized: String { origin + path + (query.map { "?" + $0 } ?? "") }

    /// The host, and the port unless it is the default, for messages.
    package var hostAndPort: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isTLS ? 443 : 80) ? name : "\(name):\(port)"
    }

    private static func split(
        _ authority: Substring,
        defaultPort: Int
    ) throws(EndpointURLError) -> (String, Int) {
        let host: Substring
        let portText: Substring
        if authority.utf8.first == UInt8(ascii: "[") {
            guard let end = authority.utf8.firstIndex(of: UInt8(ascii: "]")) else { throw .notAURL }
            host = authority[..<end].dropFirst()
            portText = authority[end...].dropFirst()
            guard host.utf8.contains(UInt8(ascii: ":")), IPAddress(String(host)) != nil else {
                throw .notAURL
            }
        } else {
            let end = authority.utf8.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
            host = authority[..<end]
            portText = authority[end...]
            guard !host.isEmpty, host.utf8.allSatisfy(\.isHostNameByte) else { throw .notAURL }
        }
        guard !portText.isEmpty else { return (host.lowercased(), defaultPort) }
        let digits = portText.dropFirst()
        guard portText.utf8.first == UInt8(ascii: ":"), digits.utf8.allSatisfy(\.isASCIIDigit),
            let port = Int(digits), (1...65_535).contains(port)
        else { throw .notAURL }
        return (host.lowercased(), port)
    }
}

/// The reason a URL cannot be used as an endpoint.
package enum EndpointURLError: Error, Equatable, Sendable, CustomStringConvertible {
    case notAURL
    case tooLong
    case wrongScheme
    case notSecure
    case hasUserInformation
    case hasFragment

    package var description: String {
        switch self {
        case .notAURL: "is not an absolute URL"
        case .tooLong: "is longer than \(EndpointURL.longest) bytes"
        case .wrongScheme: "must begin with https://"
        case .notSecure: "must begin with https:// (plain http is for this machine only)"
        case .hasUserInformation: "must not contain a user name or password"
        case .hasFragment: "must not contain a fragment (#)"
        }
    }
}

extension UInt8 {
    fileprivate var isHostNameByte: Bool {
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
        default: isASCIIDigit || isASCIILetter
        }
    }

    /// Whether this is a visible ASCII character that a URL may contain without an escape (RFC 3986 §2).
    fileprivate var isURLByte: Bool {
        switch self {
        case UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"), UInt8(ascii: "^"),
            UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
            false
        default: isVisibleASCII
        }
    }
}

extension EndpointURL {
    /// Parses `text`, which the configuration or a server provided as `name`.
    ///
    /// - Throws: `misconfigured` with `name` and the error in it.
    package init(_ text: String, of name: String) throws(RefreshFailure) {
        do throws(EndpointURLError) {
            try self.init(text)
        } catch {
            throw RefreshFailure(kind: .misconfigured, message: ServerText.cleaned("\(name) \(error)"))
        }
    }
}
