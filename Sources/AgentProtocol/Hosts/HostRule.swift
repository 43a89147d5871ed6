// SPDX-License-Identifier: MIT

import Text

/// An entry of `hosts`: the servers that a session's tokens are for, and the user name to send with them.
///
/// The forms are `git.example.com`, `*.example.com` for everything below it, `example.com:8443` for one port,
/// and `oauth2@git.example.com` with a user name for Basic authentication.
package struct HostRule: Equatable, Sendable {
    /// The user name for Basic authentication, or `nil` if the command chooses it.
    package var user: String?
    /// The host in lower case, without the `*.` that ``coversSubdomains`` represents.
    package var host: String
    /// The port, or `nil` for any port.
    package var port: Int?
    package var coversSubdomains: Bool

    /// Parses an entry, or returns `nil` if `text` is not valid.
    package init?(_ text: String) {
        var rest = text.utf8[...]
        if let at = rest.firstIndex(of: UInt8(ascii: "@")) {
            let name = rest[..<at]
            let isPlain = name.allSatisfy { $0.isVisibleASCII && $0 != UInt8(ascii: ":") }
            guard !name.isEmpty, isPlain else { return nil }
            user = String(decoding: name, as: UTF8.self)
            rest = rest[rest.index(after: at)...]
        }
        coversSubdomains = rest.starts(with: "*.".utf8)
        if coversSubdomains { rest = rest.dropFirst(2) }
        guard let place = HostAndPort(bytes: rest) else { return nil }
        host = place.host
        port = place.port
    }

    /// Returns how closely the rule names `place`, or `nil` if it does not.
    ///
    /// A higher number is closer.
    package func closeness(to place: HostAndPort) -> Int? {
        if let port, port != place.port { return nil }
        let named = port == nil ? 0 : 1
        let (asked, own) = (place.host.utf8, host.utf8)
        if coversSubdomains {
            guard asked.count > own.count + 1,
                asked.dropFirst(asked.count - own.count - 1).elementsEqual(".\(host)".utf8)
            else { return nil }
            return 2 * own.count + named
        }
        // An exact name is closer than any pattern: a host name has at most 253 bytes.
        return asked.elementsEqual(own) ? 1024 + named : nil
    }
}

/// A server as other programs name it: a host, and optionally a port.
package struct HostAndPort: Equatable, Sendable {
    /// The host in lower case, with an IPv6 address in brackets.
    package var host: String
    package var port: Int?

    /// Parses `host` or `host:port`, or returns `nil` if `text` is neither.
    package init?(_ text: String) {
        self.init(bytes: text.utf8)
    }

    /// The text `host`, or `host:port` if there is a port.
    package var text: String { port.map { "\(host):\($0)" } ?? host }

    /// Parses the bytes of `host` or `host:port` (RFC 3986 §3.2.2), each host in one spelling only.
    ///
    /// Percent codes and anything beyond ASCII are rejected: the requesting program may understand such a
    /// name as another host than the agent.
    init?(bytes: some BidirectionalCollection<UInt8>) {
        let isAddress = bytes.first == UInt8(ascii: "[")
        let end =
            isAddress
            ? bytes.firstIndex(of: UInt8(ascii: "]")).map { bytes.index(after: $0) }
            : bytes.firstIndex(of: UInt8(ascii: ":"))
        let name = bytes[..<(end ?? bytes.endIndex)].map(\.lowercasedASCII)
        guard isAddress ? HostAndPort.isAddress(name) : HostAndPort.isName(name) else { return nil }
        host = String(decoding: name, as: UTF8.self)
        let rest = bytes[(end ?? bytes.endIndex)...]
        guard let colon = rest.first else { return }
        let digits = rest.dropFirst()
        guard colon == UInt8(ascii: ":"), (1...5).contains(digits.count),
            digits.allSatisfy(\.isASCIIDigit),
            let number = Int(String(decoding: Array(digits), as: UTF8.self)), (1...65_535).contains(number)
        else { return nil }
        port = number
    }

    /// Returns whether `name` has at most 253 letters, digits, `-`, `_` and single dots (RFC 1123 §2.1).
    private static func isName(_ name: [UInt8]) -> Bool {
        guard (1...253).contains(name.count), name.first != UInt8(ascii: ".") else { return false }
        let hasEmptyLabel = zip(name, name.dropFirst()).contains { $0 == 0x2E && $1 == 0x2E }
        return !hasEmptyLabel
            && name.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// Returns whether `name` is an IPv6 address in brackets, without a zone.
    ///
    /// Another spelling is another address.
    private static func isAddress(_ name: [UInt8]) -> Bool {
        guard (4...47).contains(name.count), name.last == UInt8(ascii: "]") else { return false }
        let text = name.dropFirst().dropLast()
        return text.count { $0 == UInt8(ascii: ":") } > 1
            && text.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: ":"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
