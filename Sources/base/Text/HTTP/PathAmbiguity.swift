// SPDX-License-Identifier: MIT

/// The different ways in which servers interpret the bytes of a path.
package enum PathAmbiguity {
    /// Returns whether every server sees the same path in these bytes.
    ///
    /// Some servers read `%2e%2e`, `..;x`, `..%3bx`, `\`, `%5c`, full-width dots or a double escape as steps
    /// in a path. Some decode invalid UTF-8, and some end a path at a zero byte.
    package static func isPlain(_ path: ArraySlice<UInt8>) -> Bool {
        guard !path.contains(UInt8(ascii: "\\")), escapesArePlain(path) else { return false }
        let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true)
        return segments.allSatisfy { segment in
            let name = segment.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "%") }
            return !(name.count <= 2 && !name.isEmpty && name.allSatisfy { $0 == UInt8(ascii: ".") })
        }
    }

    private static func escapesArePlain(_ path: ArraySlice<UInt8>) -> Bool {
        var rest = path
        while let percent = rest.firstIndex(of: UInt8(ascii: "%")) {
            rest = rest[percent...].dropFirst()
            guard let high = rest.first?.hexDigitValue, let low = rest.dropFirst().first?.hexDigitValue else {
                return false
            }
            let byte = high << 4 | low
            rest = rest.dropFirst(2)
            switch byte {
            case UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "."): return false
            // No text contains control characters, and no UTF-8 contains the last ranges.
            case 0..<0x20, 0x7F, 0xC0, 0xC1, 0xF5...0xFF: return false
            // An overlong form of ASCII.
            case 0xE0, 0xF0: if isOverlong(byte, rest) { return false }
            // An escape of an escape.
            case UInt8(ascii: "%"): if isEscape(rest) { return false }
            // Characters that look like those of the syntax.
            case 0xE2, 0xEF: if looksLikeSyntax(byte, rest) { return false }
            default: break
            }
        }
        return true
    }

    /// Returns whether the escape after `first` makes an overlong encoding of a character that needs fewer
    /// bytes.
    private static func isOverlong(_ first: UInt8, _ rest: ArraySlice<UInt8>) -> Bool {
        guard rest.first == UInt8(ascii: "%"), let high = rest.dropFirst().first?.hexDigitValue else {
            return true
        }
        return first == 0xE0 ? !(0xA...0xB).contains(high) : !(0x9...0xB).contains(high)
    }

    /// Returns whether the escape of `first` and those after it encode a character that some servers read as
    /// syntax.
    ///
    /// They do so with compatibility forms (Unicode, UAX #15, NFKC) and with the tables for Windows code
    /// pages.
    private static func looksLikeSyntax(_ first: UInt8, _ rest: ArraySlice<UInt8>) -> Bool {
        var bytes = [first]
        var rest = rest
        while bytes.count < 3, rest.popFirst() == UInt8(ascii: "%"),
            let high = rest.popFirst()?.hexDigitValue, let low = rest.popFirst()?.hexDigitValue
        {
            bytes.append(high << 4 | low)
        }
        return dotsAndSlashes.contains { bytes.elementsEqual($0.utf8) }
            || percentSigns.contains { bytes.elementsEqual($0.utf8) } && isEscape(rest)
    }

    private static let dotsAndSlashes = [
        "\u{2024}", "\u{2025}", "\u{FE30}", "\u{FE52}", "\u{FF0E}",
        "\u{2044}", "\u{2215}", "\u{29F8}", "\u{FF0F}",
        "\u{20E5}", "\u{2216}", "\u{29F5}", "\u{FE68}", "\u{FF3C}",
    ]
    private static let percentSigns = ["\u{FE6A}", "\u{FF05}"]

    /// Returns whether two hexadecimal digits follow, which may themselves be escaped.
    private static func isEscape(_ rest: ArraySlice<UInt8>) -> Bool {
        var rest = rest
        for _ in 0..<2 {
            guard var byte = rest.popFirst() else { return false }
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst()?.hexDigitValue, let low = rest.popFirst()?.hexDigitValue
                else {
                    return true
                }
                byte = high << 4 | low
            }
            guard byte.hexDigitValue != nil else { return false }
        }
        return true
    }
}
