// SPDX-License-Identifier: MIT

/// What stands between the slashes of an address's path (RFC 3986 §3.3), compared whole: `/api` covers `/api/v1` and not
/// `/api-v1`.
///
/// One slash at the end counts for nothing, and `%2e` is the dot that it stands for.
package struct PathSegments: Hashable, Sendable {
    private let segments: [ByteText]

    /// Takes a path apart; `nil`: some servers see a `.` or `..` in it, which would lead out of what is compared.
    ///
    /// - Parameter path: empty, or with a slash at its beginning; without a query.
    package init?(_ path: some StringProtocol) {
        var parts = path.bytewise.split(on: "/", omittingEmpty: false).map(PathSegments.withPlainDots)
        if parts.first == "" { parts.removeFirst() }
        if parts.last == "" { parts.removeLast() }
        guard parts.allSatisfy(PathSegments.staysInPlace) else { return nil }
        segments = parts
    }

    /// How many there are: of two paths that cover a third one, that with more is closer to it.
    package var count: Int { segments.count }

    /// Whether `other` is this path or one below it.
    package func cover(_ other: PathSegments) -> Bool {
        other.segments.starts(with: segments)
    }

    /// Whether every server that reads a segment stays in the folder of the segment; a slash in it may be written `%2f`.
    private static func staysInPlace(_ segment: ByteText) -> Bool {
        var bytes: [UInt8] = []
        var rest = segment.utf8[...]
        while let byte = rest.first {
            let isSlash = rest.prefix(3).elementsEqual("%2f".utf8) || rest.prefix(3).elementsEqual("%2F".utf8)
            bytes.append(isSlash ? UInt8(ascii: "/") : byte)
            rest = rest.dropFirst(isSlash ? 3 : 1)
        }
        return PathSyntax.isPlain(bytes[...])
    }

    private static func withPlainDots(_ segment: Substring) -> ByteText {
        guard segment.utf8.contains(UInt8(ascii: "%")) else { return segment.bytewise }
        var bytes: [UInt8] = []
        var rest = segment.utf8[...]
        while let byte = rest.first {
            let isDot = rest.prefix(3).elementsEqual("%2e".utf8) || rest.prefix(3).elementsEqual("%2E".utf8)
            bytes.append(isDot ? UInt8(ascii: ".") : byte)
            rest = rest.dropFirst(isDot ? 3 : 1)
        }
        return ByteText(String(decoding: bytes, as: UTF8.self))
    }
}
