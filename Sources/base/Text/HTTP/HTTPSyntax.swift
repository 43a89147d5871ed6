// SPDX-License-Identifier: MIT

/// A strict parser for the lines of an HTTP/1.1 head.
///
/// It rejects everything that two implementations might read differently.
package enum HTTPSyntax {
    /// The parts of `method SP request-target SP HTTP-version` (RFC 9112 §3).
    package struct RequestLine {
        package let method: ArraySlice<UInt8>
        /// The request target: visible ASCII without `#`.
        package let target: ArraySlice<UInt8>
        /// The version as received, such as `HTTP/1.1`.
        package let version: ArraySlice<UInt8>

        /// Returns whether the version equals `version`.
        package func isVersion(_ version: StaticString) -> Bool { self.version.elementsEqual(version.bytes) }
    }

    /// Parses a request line without its line end, or returns `nil` if it is malformed.
    ///
    /// Parts must be separated by single spaces.
    package static func requestLine(_ line: ArraySlice<UInt8>) -> RequestLine? {
        guard let first = line.firstIndex(of: UInt8(ascii: " ")),
            let last = line.lastIndex(of: UInt8(ascii: " ")), first < last
        else { return nil }
        let (method, target, version) = (line[..<first], line[(first + 1)..<last], line[(last + 1)...])
        guard !method.isEmpty, method.allSatisfy(\.isTokenByte), !target.isEmpty,
            target.allSatisfy(\.isTargetByte), version.count == 8, version.starts(with: "HTTP/".utf8)
        else { return nil }
        return RequestLine(method: method, target: target, version: version)
    }

    /// Parses `name: value` without its line end, or returns `nil` if it is malformed (RFC 9112 §5).
    ///
    /// Folded lines and blanks before the colon are malformed.
    package static func field(
        _ line: ArraySlice<UInt8>
    ) -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
            line[..<colon].allSatisfy(\.isTokenByte)
        else { return nil }
        let value = line[(colon + 1)...].trimmedOfBlanks
        return value.allSatisfy(\.isFieldByte) ? (line[..<colon], value) : nil
    }

    /// Returns the lines of `head`, separated by CR LF.
    ///
    /// A bare CR or LF stays in its line, which the other parsers of this type then reject.
    package static func lines(_ head: ArraySlice<UInt8>) -> Lines { Lines(rest: head) }

    /// A sequence of the lines of a head; the last one is empty if the head ends with a line end.
    package struct Lines: Sequence, IteratorProtocol {
        fileprivate var rest: ArraySlice<UInt8>?

        package mutating func next() -> ArraySlice<UInt8>? {
            guard let rest else { return nil }
            var place = rest.startIndex
            while let feed = rest[place...].firstIndex(of: UInt8(ascii: "\n")) {
                place = feed + 1
                guard feed > rest.startIndex, rest[feed - 1] == UInt8(ascii: "\r") else { continue }
                self.rest = rest[place...]
                return rest[..<(feed - 1)]
            }
            self.rest = nil
            return rest
        }
    }
}

extension ArraySlice<UInt8> {
    /// The slice without spaces and tabs at both ends.
    package var trimmedOfBlanks: ArraySlice<UInt8> {
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) })
        else { return self[endIndex...] }
        return self[first...last]
    }

    /// Returns whether the bytes equal `word`, with `A` to `Z` in either case.
    ///
    /// `word` must be in lower case.
    package func says(_ word: StaticString) -> Bool {
        count == word.utf8CodeUnitCount
            && word.withUTF8Buffer { word in
                unsafe elementsEqual(word) { $0 == $1 || (0x41...0x5A).contains($0) && $0 | 0x20 == $1 }
            }
    }
}

extension StaticString {
    fileprivate var bytes: [UInt8] { withUTF8Buffer { unsafe Array($0) } }
}

extension UInt8 {
    /// Whether the byte may appear in a method or field name (`tchar`, RFC 9110 §5.6.2).
    package var isTokenByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "!"), UInt8(ascii: "#"),
            UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"), UInt8(ascii: "'"),
            UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Whether the byte may appear in a request target: visible ASCII other than `#`.
    fileprivate var isTargetByte: Bool { isVisibleASCII && self != UInt8(ascii: "#") }

    /// Whether the byte may appear in a field value: anything but control characters (RFC 9110 §5.5).
    package var isFieldByte: Bool { self >= 0x20 && self != 0x7F || self == UInt8(ascii: "\t") }
}
