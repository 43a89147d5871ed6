// SPDX-License-Identifier: MIT

import Text

/// The address of a protected resource, reduced to what selects its session.
package struct ResourceAddress: Equatable, Sendable {
    package let text: String
    package let server: ServerAddress
    private let path: PathSegments
    /// Whether the address is safe in a request: visible ASCII, without user name, password and fragment.
    package let isPlain: Bool

    /// Parses an address with a scheme, or returns `nil` if it is none or is ambiguous.
    package init?(_ text: String) {
        guard let server = ServerAddress(url: text) else { return nil }
        let rest = text.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst(3)
        let path = rest.drop { !"/?#".utf8.contains($0) }.prefix { !"?#".utf8.contains($0) }
        guard let segments = PathSegments(Substring(path)) else { return nil }
        self.text = text
        self.server = server
        self.path = segments
        isPlain =
            text.utf8.isVisibleWord && !rest.contains(UInt8(ascii: "#"))
            && !rest.prefix { !"/?".utf8.contains($0) }.contains(UInt8(ascii: "@"))
    }

    /// The host as a session name: letters, digits, dots and `-`, beginning with a letter or digit.
    package var name: String {
        let bytes = server.place.host.utf8.map { byte in
            byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: ".") ? byte : UInt8(ascii: "-")
        }
        let name = bytes.drop { !$0.isASCIILetter && !$0.isASCIIDigit }
        return String(decoding: name.prefix(50), as: UTF8.self)
    }

    /// Returns whether `other` is this address or one below it by whole segments.
    package func covers(_ other: ResourceAddress) -> Bool {
        server.origin.bytewise == other.server.origin.bytewise && path.cover(other.path)
    }

    /// Returns the session whose resource covers this address most closely, or `nil` if there is none.
    ///
    /// A resource that names the session's server takes precedence over one that tokens are only requested
    /// for.
    package func session(among sessions: [SessionMessage]) -> String? {
        closest(among: sessions) { [$0.resource].compactMap(\.self) }
            ?? closest(among: sessions) { $0.resources ?? [] }
    }

    private func closest(
        among sessions: [SessionMessage],
        _ resources: (SessionMessage) -> [String]
    ) -> String? {
        var found: (name: String, depth: Int)?
        for session in sessions {
            guard let name = session.session else { continue }
            for resource in resources(session).compactMap({ ResourceAddress($0) })
            where resource.covers(self) && resource.path.count > found?.depth ?? -1 {
                found = (name, resource.path.count)
            }
        }
        return found?.name
    }
}
