// SPDX-License-Identifier: MIT

import Text

/// The forward proxy of a process's environment and its exceptions: `HTTPS_PROXY` and `NO_PROXY`.
///
/// The names in lower case take precedence, as with curl(1). `http_proxy` is not read. Connections without
/// TLS are made only to this machine, and a CGI program would get that variable from its client (httpoxy).
package struct ProxyVariables: Sendable {
    private static let proxyVariables = ["https_proxy", "HTTPS_PROXY"]
    private static let exceptionVariables = ["no_proxy", "NO_PROXY"]

    /// The variable that names the proxy.
    package let name: String
    private let named: Result<(proxy: ForwardProxy, credentials: ProxyCredentials?)?, ForwardProxyURLError>
    private let exceptions: ProxyExceptions

    /// An environment without proxies.
    package static let none = ProxyVariables { _ in nil }

    /// Reads the variables with `lookup`.
    package init(_ lookup: (String) -> String?) {
        let set = ProxyVariables.proxyVariables.first { lookup($0)?.isEmpty == false }
        name = set ?? ProxyVariables.proxyVariables[0]
        if let text = set.flatMap(lookup) {
            named = Result { () throws(ForwardProxyURLError) in try ForwardProxy.ofEnvironment(text) }
        } else {
            named = .success(nil)
        }
        let lists = ProxyVariables.exceptionVariables.lazy.compactMap(lookup)
        exceptions = ProxyExceptions(lists.first { !$0.isEmpty } ?? "")
    }

    /// Whether any host is reached through a proxy.
    package var exist: Bool {
        if case .success(nil) = named { false } else { true }
    }

    /// Returns the proxy for connections to a host, or `nil` if they are direct.
    ///
    /// `host` has no brackets around an IPv6 address.
    ///
    /// - Throws: ``ForwardProxyURLError`` if the variable applies and is not valid.
    package func proxy(
        for host: String,
        port: Int
    ) throws(ForwardProxyURLError) -> (proxy: ForwardProxy, credentials: ProxyCredentials?)? {
        guard exist, !ForwardProxy.isInternal(host), !exceptions.cover(host, port: port) else { return nil }
        return try named.get()
    }
}

/// The hosts that are reached directly, as listed in `NO_PROXY`.
package struct ProxyExceptions: Sendable {
    private enum Rule: Sendable {
        case all
        /// A name and all names below it.
        case name(ByteText, port: Int?)
        case network(IPAddress, bits: Int, port: Int?)
    }

    private static let maximumLength = 64 << 10
    private static let maximumCount = 1_024

    private let rules: [Rule]

    /// Parses names, addresses and networks separated by commas or blanks.
    ///
    /// Invalid words are ignored.
    package init(_ text: String) {
        guard text.utf8.count <= ProxyExceptions.maximumLength else {
            rules = []
            return
        }
        let words = text.utf8.split {
            $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t")
        }
        rules = words.prefix(ProxyExceptions.maximumCount).compactMap { ProxyExceptions.rule(Array($0)[...]) }
    }

    /// Returns whether connections to a host are direct.
    package func cover(_ host: String, port: Int) -> Bool {
        let address = IPAddress(host)
        var name = host.bytewise.lowercased
        if name.hasSuffix(".") {
            name = String(decoding: Array(host.utf8).dropLast(), as: UTF8.self).bytewise.lowercased
        }
        return rules.contains { rule in
            switch rule {
            case .all: true
            case .name(let own, let only):
                address == nil && (only ?? port) == port
                    && (name == own || name.hasSuffix(("." + own.text).bytewise))
            case .network(let network, let bits, let only):
                (only ?? port) == port && address.map { $0.shares(bits, with: network) } == true
            }
        }
    }

    private static func rule(_ word: ArraySlice<UInt8>) -> Rule? {
        if word.elementsEqual("*".utf8) { return .all }
        var rest = word
        var port: Int?
        if rest.first == UInt8(ascii: "[") {
            guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            let tail = rest[(end + 1)...]
            if !tail.isEmpty {
                guard tail.first == UInt8(ascii: ":"), let number = number(tail.dropFirst(), in: 1...65_535)
                else {
                    return nil
                }
                port = number
            }
            rest = rest[..<end].dropFirst()
        } else if let colon = rest.firstIndex(of: UInt8(ascii: ":")),
            !rest[(colon + 1)...].contains(UInt8(ascii: ":"))
        {
            guard let number = number(rest[(colon + 1)...], in: 1...65_535) else { return nil }
            port = number
            rest = rest[..<colon]
        }
        var bits: Int?
        if let slash = rest.firstIndex(of: UInt8(ascii: "/")) {
            bits = number(rest[(slash + 1)...], in: 0...128)
            guard bits != nil else { return nil }
            rest = rest[..<slash]
        }
        let text = String(decoding: rest, as: UTF8.self)
        if let address = IPAddress(text) {
            let whole = address.bytes.count * 8
            guard let bits else { return .network(address, bits: whole, port: port) }
            // The bits of an IPv4-mapped address count from the start of the IPv6 address.
            let isMapped = whole == 32 && text.utf8.contains(UInt8(ascii: ":"))
            return .network(address, bits: min(max(isMapped ? bits - 96 : bits, 0), whole), port: port)
        }
        guard bits == nil else { return nil }
        if rest.starts(with: "*.".utf8) { rest = rest.dropFirst() }
        if rest.first == UInt8(ascii: ".") { rest = rest.dropFirst() }
        if rest.last == UInt8(ascii: ".") { rest = rest.dropLast() }
        guard !rest.isEmpty else { return nil }
        return .name(String(decoding: rest, as: UTF8.self).bytewise.lowercased, port: port)
    }

    private static func number(_ digits: ArraySlice<UInt8>, in range: ClosedRange<Int>) -> Int? {
        guard (1...5).contains(digits.count), digits.allSatisfy(\.isASCIIDigit),
            let number = Int(String(decoding: digits, as: UTF8.self)), range.contains(number)
        else { return nil }
        return number
    }
}

extension IPAddress {
    /// Returns whether both addresses are of the same family and share their first `bits` bits.
    fileprivate func shares(_ bits: Int, with other: IPAddress) -> Bool {
        guard bytes.count == other.bytes.count else { return false }
        let whole = bits / 8
        guard bytes.prefix(whole) == other.bytes.prefix(whole) else { return false }
        guard bits % 8 > 0 else { return true }
        return (bytes[whole] ^ other.bytes[whole]) >> (8 - UInt8(bits % 8)) == 0
    }
}
