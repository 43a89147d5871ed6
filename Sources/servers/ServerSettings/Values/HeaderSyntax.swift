// SPDX-License-Identifier: MIT

import Text

/// The headers that the configuration may not set.
package enum ReservedHeader {
    /// The reserved names.
    ///
    /// The list has headers set by the agent or the HTTP library, and headers that frame or route a message
    /// (RFC 9110 §7.6.1, RFC 9112 §6). Others would make the server respond in a format that the agent does
    /// not read.
    private static let names: Set<ByteText> = [
        "accept", "accept-encoding", "authorization", "connection", "content-encoding", "content-length",
        "content-type", "date", "dpop", "expect", "host", "http2-settings", "keep-alive", "max-forwards",
        "range", "te", "trailer", "transfer-encoding", "upgrade", "via",
    ]

    package static func isReserved(_ name: String) -> Bool {
        let name = name.bytewise.lowercased
        return names.contains(name) || name.hasPrefix("proxy-") || name.hasPrefix("if-")
    }
}

/// The syntax of headers.
package enum HeaderSyntax {
    /// The maximum number of bytes of a value.
    static let maximumLength = 4 << 10
    package static let rule =
        "up to \(HeaderSyntax.maximumLength) bytes of visible ASCII, with spaces only inside"

    /// Returns whether `name` can be the name of a header (RFC 9110 §5.1).
    package static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count) && name.utf8.allSatisfy(\.isTokenByte)
    }

    /// Returns whether `bytes` are a complete value (RFC 9110 §5.5).
    ///
    /// Servers decode text beyond ASCII differently.
    package static func isFit(_ bytes: some BidirectionalCollection<UInt8>) -> Bool {
        guard let first = bytes.first, let last = bytes.last, bytes.count <= HeaderSyntax.maximumLength
        else {
            return false
        }
        return first.isVisibleASCII && last.isVisibleASCII
            && bytes.allSatisfy { $0.isVisibleASCII || $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }
}
