// SPDX-License-Identifier: MIT

import Text

/// The four kinds of string (TOML 1.0, String).
extension TOMLCursor {
    /// Reads `"…"`, on one line.
    mutating func basicString() throws(TOMLError) -> String {
        advance()
        var content = take(while: \.isBasicText)
        while next == UInt8(ascii: "\\") {
            content += try escape()
            content += take(while: \.isBasicText)
        }
        guard take("\"") else { throw notClosed }
        return String(decoding: content, as: UTF8.self)
    }

    /// Reads `'…'`, on one line, without escapes.
    mutating func literalString() throws(TOMLError) -> String {
        advance()
        let content = take { $0.isTOMLText && $0 != UInt8(ascii: "'") }
        guard take("'") else { throw notClosed }
        return String(decoding: content, as: UTF8.self)
    }

    /// The error of a string on one line without its closing quote here.
    private var notClosed: TOMLError {
        error("string is not closed on its line, or contains a control character")
    }

    /// Reads the rest of `"""…"""` after the opening quotes.
    mutating func restOfLongBasicString() throws(TOMLError) -> String {
        try longString(endingWith: UInt8(ascii: "\"")) { cursor throws(TOMLError) in
            guard cursor.next == UInt8(ascii: "\\") else { return cursor.take(while: \.isBasicText) }
            return try cursor.escape()[...]
        }
    }

    /// Reads the rest of `'''…'''` after the opening quotes.
    mutating func restOfLongLiteralString() throws(TOMLError) -> String {
        try longString(endingWith: UInt8(ascii: "'")) {
            $0.take { $0.isTOMLText && $0 != UInt8(ascii: "'") }
        }
    }

    /// Reads text up to three of `quote`.
    ///
    /// `piece` reads as much as it can between quotes and line ends.
    private mutating func longString(
        endingWith quote: UInt8,
        _ piece: (inout TOMLCursor) throws(TOMLError) -> ArraySlice<UInt8>
    ) throws(TOMLError) -> String {
        // A line end directly after the opening quotes is not part of the string.
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
                    throw error("multi-line string is not closed, or contains a control character")
                }
                content += piece
            }
        }
        // Up to two quotes may precede the closing three.
        for _ in 0..<2 where next == quote {
            content.append(quote)
            advance()
        }
        return String(decoding: content, as: UTF8.self)
    }

    /// Skips a backslash at the end of a line together with the blanks and line ends after it.
    ///
    /// - Returns: `true` if there was one.
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

    /// Reads an escape and returns its UTF-8 bytes.
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
        throw start.error("invalid escape (write \\\\ for a backslash, or use ' quotes)")
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
    /// Whether the byte may appear unescaped in `"…"`.
    fileprivate var isBasicText: Bool {
        isTOMLText && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
    }
}
