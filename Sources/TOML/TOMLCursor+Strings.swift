// SPDX-License-Identifier: MIT

import Text

/// The four kinds of string (TOML 1.0, String).
extension TOMLCursor {
    /// `"…"`, on one line.
    mutating func basicString() throws(TOMLError) -> String {
        advance()
        var content = take(while: \.isBasicText)
        while next == UInt8(ascii: "\\") {
            content += try escape()
            content += take(while: \.isBasicText)
        }
        guard take("\"") else { throw error("a string ends with \" on its line, without control characters") }
        return String(decoding: content, as: UTF8.self)
    }

    /// `'…'`, on one line, without escapes.
    mutating func literalString() throws(TOMLError) -> String {
        advance()
        let content = take { $0.isTOMLText && $0 != UInt8(ascii: "'") }
        guard take("'") else { throw error("a string ends with ' on its line, without control characters") }
        return String(decoding: content, as: UTF8.self)
    }

    /// `"""…"""` from behind the opening quotes.
    mutating func restOfLongBasicString() throws(TOMLError) -> String {
        try longString(endingWith: UInt8(ascii: "\"")) { cursor throws(TOMLError) in
            guard cursor.next == UInt8(ascii: "\\") else { return cursor.take(while: \.isBasicText) }
            return try cursor.escape()[...]
        }
    }

    /// `'''…'''` from behind the opening quotes.
    mutating func restOfLongLiteralString() throws(TOMLError) -> String {
        try longString(endingWith: UInt8(ascii: "'")) {
            $0.take { $0.isTOMLText && $0 != UInt8(ascii: "'") }
        }
    }

    /// The text before three of `quote`; `piece` takes as much as it can between quotes and ends of lines.
    private mutating func longString(
        endingWith quote: UInt8,
        _ piece: (inout TOMLCursor) throws(TOMLError) -> ArraySlice<UInt8>
    ) throws(TOMLError) -> String {
        // A line's end right behind the opening quotes does not count.
        _ = takeLineEnd()
        var content: [UInt8] = []
        while !takeThree(quote) {
            if next == quote {
                content.append(quote)
                advance()
            } else if takeLineEnd() {
                content.append(UInt8(ascii: "\n"))
            } else if quote == UInt8(ascii: "'") || !takeFoldedLines() {
                let piece = try piece(&self)
                guard !piece.isEmpty else {
                    throw error("a string of several lines is not closed, or holds a control character")
                }
                content += piece
            }
        }
        // Up to two quotes may stand before the closing three.
        for _ in 0..<2 where next == quote {
            content.append(quote)
            advance()
        }
        return String(decoding: content, as: UTF8.self)
    }

    /// Goes past a backslash at the end of a line, and the blanks and line ends behind it, if they come next.
    private mutating func takeFoldedLines() -> Bool {
        guard next == UInt8(ascii: "\\") else { return false }
        var folded = self
        folded.advance()
        folded.skipBlanks()
        guard folded.takeLineEnd() else { return false }
        repeat { folded.skipBlanks() } while folded.takeLineEnd()
        self = folded
        return true
    }

    /// What an escape stands for, as UTF-8.
    private mutating func escape() throws(TOMLError) -> [UInt8] {
        let start = self
        advance()
        let letter = next
        if letter != nil { advance() }
        switch letter {
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): return [letter].compactMap(\.self)
        case UInt8(ascii: "u"):
            if let scalar = scalar(digits: 4) { return Array(String(scalar).utf8) }
        case UInt8(ascii: "U"):
            if let scalar = scalar(digits: 8) { return Array(String(scalar).utf8) }
        default: break
        }
        throw start.error("this is no escape; write \\\\ for a backslash, or the text in ' quotes")
    }

    private mutating func scalar(digits: Int) -> Unicode.Scalar? {
        var value: UInt32 = 0
        for _ in 0..<digits {
            guard let digit = next?.hexDigitValue else { return nil }
            value = value << 4 | UInt32(digit)
            advance()
        }
        return Unicode.Scalar(value)
    }
}

extension UInt8 {
    /// Stands for itself in `"…"`.
    fileprivate var isBasicText: Bool {
        isTOMLText && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
    }
}
