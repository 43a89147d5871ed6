// SPDX-License-Identifier: MIT

/// The name of a session: 1–64 ASCII letters, digits, `.`, `_` or `-`, beginning with a letter or digit.
///
/// So a name is safe in a path segment, a URL, a log line and a shell word.
package struct SessionName: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let description: String

    /// Creates a name, or `nil` if `text` is not a valid one.
    package init?(_ text: some StringProtocol) {
        let bytes = text.utf8
        guard (1...64).contains(bytes.count), let first = bytes.first, first.isNameStart else { return nil }
        guard bytes.allSatisfy(\.isNameByte) else { return nil }
        description = String(text)
    }

    package static func < (left: SessionName, right: SessionName) -> Bool {
        left.description < right.description
    }
}

extension UInt8 {
    fileprivate var isNameStart: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    fileprivate var isNameByte: Bool {
        isNameStart || self == UInt8(ascii: ".") || self == UInt8(ascii: "_") || self == UInt8(ascii: "-")
    }
}
