// SPDX-License-Identifier: MIT

/// The names of this machine that are not looked up in DNS: `localhost` and the names below it (RFC 6761
/// §6.3).
package enum LocalhostName {
    /// The addresses of such a name, in the order in which they are tried.
    package static let addresses = ["127.0.0.1", "::1"]

    /// Returns whether `host` is such a name, ignoring case and a trailing dot.
    package static func contains(_ host: String) -> Bool {
        var name = Array(host.utf8.map(\.lowercasedASCII))
        if name.last == UInt8(ascii: ".") { name.removeLast() }
        let top = Array("localhost".utf8)
        return name == top
            || name.suffix(top.count + 1).elementsEqual(Array(".".utf8) + top) && name.count > top.count + 1
    }
}
