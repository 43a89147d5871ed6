// SPDX-License-Identifier: MIT

/// The segments of a URL path (RFC 3986 §3.3), compared whole: `/api` covers `/api/v1` and not `/api-v1`.
///
/// One trailing slash is ignored, and `%2e` is read as a dot.
package struct PathSegments: Hashable, Sendable {
    private let segments: [ByteText]

    /// Splits a path into segments, or returns `nil` if a server might read a `.` or `..` step in it.
    ///
    /// Such a step could leave the compared path.
    ///
    /// - Parameter path: empty, or with a leading slash; without a query.
    package init?(_ path: some StringProtocol) {
        var parts = path.bytewise.split(on: "/", omittingEmpty: false).map(PathSegments.withPlainDots)
        if parts.first == "" { parts.removeFirst() }
        if parts.last == "" { parts.removeLast() }
        guard parts.allSatisfy(PathSegments.staysInPlace) else { return nil }
        segments = parts
    }

    /// The number of segments: of two paths that cover a third, the one with more is the closer match.
    package var count: Int { segments.count }

    /// Returns whether `other` is this path or one below it.
    package func cover(_ other: PathSegments) -> Bool {
        other.segments.starts(with: segments)
    }

    /// Returns whether every server that reads the segment stays in its directory; `%2f` is read as a slash.
    private static func staysInPlace(_ segment: ByteText) -> Bool {
        var bytes: [UInt8] = []
        var rest = segment.utf8[...]
        while let byte = rest.first {
            let isSlash = rest.prefix(3).elementsEqual("%2f".utf8) || rest.prefix(3).elementsEqual("%2F".utf8)
            bytes.append(isSlash ? UInt8(ascii: "/") : byte)
            rest = rest.dropFirst(isSlash ? 3 : 1)
        }
        return PathAmbiguity.isPlain(bytes[...])
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
