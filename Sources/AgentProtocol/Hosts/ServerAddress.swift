// SPDX-License-Identifier: MIT

import Text

/// The address that another program requests a token for, parsed byte by byte.
///
/// A text that two programs could understand as two servers is rejected, as a token could be sent to the
/// wrong one. So before the path there are no backslashes, no spaces, nothing beyond ASCII, and at most one
/// `@`. A scheme counts only at the beginning.
package struct ServerAddress: Equatable, Sendable {
    /// The scheme in lower case, or `nil` for a host without one, to which programs use TLS.
    package let scheme: String?
    /// The host with its port, even if that is the scheme's default.
    package let place: HostAndPort

    /// Parses an address with a scheme, `https://host:port/path`, or returns `nil` if it is none or the
    /// scheme is unknown.
    package init?(url: String) {
        guard let (scheme, rest) = ServerAddress.divided(url.utf8) else { return nil }
        self.init(scheme: scheme, ServerAddress.authority(rest))
    }

    /// Parses an address with a scheme, or `host:port/path` without one.
    package init?(_ text: String) {
        if let (scheme, rest) = ServerAddress.divided(text.utf8) {
            self.init(scheme: scheme, ServerAddress.authority(rest))
        } else {
            self.init(scheme: nil, ServerAddress.authority(text.utf8[...]))
        }
    }

    /// Creates the address that a program provides in two parts: a scheme, and `host` or `host:port`.
    package init?(scheme: String, host: String) {
        guard scheme.utf8.count <= 32, ServerAddress.ports[scheme] != nil else { return nil }
        self.init(scheme: scheme, place: host.utf8[...])
    }

    private init?(scheme: String?, _ authority: Substring.UTF8View) {
        guard let at = authority.firstIndex(of: UInt8(ascii: "@")) else {
            self.init(scheme: scheme, place: authority)
            return
        }
        guard authority[..<at].allSatisfy(ServerAddress.isUserByte) else { return nil }
        self.init(scheme: scheme, place: authority[authority.index(after: at)...])
    }

    private init?(scheme: String?, place: Substring.UTF8View) {
        guard let port = ServerAddress.ports[scheme ?? "https"], var place = HostAndPort(bytes: place) else {
            return nil
        }
        place.port = place.port ?? port
        self.scheme = scheme
        self.place = place
    }

    /// Whether a token cannot be read on the way: it is sent over TLS, or does not leave this machine.
    package var isPrivate: Bool { !isClear || isLoopback }

    /// Whether the scheme does not use TLS.
    package var isClear: Bool { scheme == "http" || scheme == "grpc" }

    /// Whether the host is this machine: a literal loopback address, `localhost`, or a name below it (RFC
    /// 6761 §6.3).
    package var isLoopback: Bool {
        if isLoopbackName || place.host == "[::1]" { return true }
        let numbers = place.host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return numbers.count == 4 && place.host.utf8.starts(with: "127.".utf8)
            && numbers.allSatisfy { digits in
                (1...3).contains(digits.count) && digits.allSatisfy(\.isASCIIDigit)
            }
    }

    /// Whether the host is this machine by its name, which must not be resolved through DNS.
    package var isLoopbackName: Bool {
        place.host == "localhost" || place.host.utf8.reversed().starts(with: ".localhost".utf8.reversed())
    }

    /// The scheme, host and port such as `https://git.example.com`, with the port if it is not the scheme's
    /// default.
    package var origin: String { "\(scheme ?? "https")://\(hostRule)" }

    /// The host and port in the form of `hosts` of a session, with the port if it is not the scheme's
    /// default.
    package var hostRule: String {
        let port = place.port.flatMap { $0 == ServerAddress.ports[scheme ?? "https"] ? nil : ":\($0)" } ?? ""
        return place.host + port
    }

    /// The schemes for requests with tokens, with their default ports (RFC 9110 §4.2).
    private static let ports = ["https": 443, "grpcs": 443, "http": 80, "grpc": 80]

    /// Returns the scheme in lower case and the text after `://`, or `nil` if the text does not begin with a
    /// scheme.
    private static func divided(_ text: String.UTF8View) -> (scheme: String, rest: Substring.UTF8View)? {
        let name = text.prefix(while: ServerAddress.isSchemeByte)
        let rest = text[name.endIndex...]
        guard !name.isEmpty, name.count <= 32, rest.starts(with: "://".utf8) else { return nil }
        let lower = name.map(\.lowercasedASCII)
        return (String(decoding: lower, as: UTF8.self), rest.dropFirst(3))
    }

    /// Returns the part before path, query and fragment (RFC 3986 §3.2).
    private static func authority(_ rest: Substring.UTF8View) -> Substring.UTF8View {
        rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    }

    /// Returns whether a scheme may contain `byte` (RFC 3986 §3.1).
    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || "+-.".utf8.contains(byte)
    }

    /// Returns whether `byte` may be in the user part before the `@` (RFC 3986 §3.2.1).
    private static func isUserByte(_ byte: UInt8) -> Bool {
        byte.isUnreserved || "!$&'()*+,;=:%".utf8.contains(byte)
    }
}
