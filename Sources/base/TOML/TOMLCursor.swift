// SPDX-License-Identifier: MIT

/// A cursor over the bytes of a TOML text that tracks the line and column.
struct TOMLCursor {
    private let bytes: [UInt8]
    private var offset: Int
    private var line = 1
    private var lineStart: Int

    /// Creates a cursor at the beginning of the text.
    ///
    /// - Parameter bytes: UTF-8; a byte-order mark at the beginning is skipped.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        offset = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        lineStart = offset
    }

    var position: TOMLPosition { TOMLPosition(line: line, column: offset - lineStart + 1) }

    /// The next byte, or `nil` at the end of the text.
    var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    /// Returns the byte `distance` bytes after ``next``, or `nil` beyond the end of the text.
    func peek(_ distance: Int) -> UInt8? {
        distance < bytes.count - offset ? bytes[offset + distance] : nil
    }

    /// Skips one byte, which must not be a line end.
    mutating func advance() {
        offset += 1
    }

    /// Skips `byte` if it is next.
    ///
    /// - Returns: `true` if it was.
    mutating func take(_ byte: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: byte) else { return false }
        offset += 1
        return true
    }

    /// Skips three of `byte` if they are next.
    ///
    /// - Returns: `true` if they were.
    mutating func takeThree(_ byte: UInt8) -> Bool {
        guard next == byte, peek(1) == byte, peek(2) == byte else { return false }
        offset += 3
        return true
    }

    /// Reads bytes while they `belong`.
    mutating func take(while belong: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = offset
        while offset < bytes.count, belong(bytes[offset]) { offset += 1 }
        return bytes[start..<offset]
    }

    /// Skips a line end, LF or CR LF, if it is next.
    ///
    /// - Returns: `true` if it was.
    mutating func takeLineEnd() -> Bool {
        switch next {
        case UInt8(ascii: "\n"): offset += 1
        case UInt8(ascii: "\r") where peek(1) == UInt8(ascii: "\n"): offset += 2
        default: return false
        }
        line += 1
        lineStart = offset
        return true
    }

    mutating func skipBlanks() {
        while next == UInt8(ascii: " ") || next == UInt8(ascii: "\t") { offset += 1 }
    }

    /// Skips blanks, a comment and the line end.
    ///
    /// - Throws: ``TOMLError`` if anything else is on the line.
    mutating func endLine() throws(TOMLError) {
        skipBlanks()
        if next == UInt8(ascii: "#") { _ = take(while: \.isTOMLText) }
        guard next == nil || takeLineEnd() else {
            throw error("unexpected text at end of line")
        }
    }

    /// Skips blanks, comments and line ends, which may appear between the elements of an array.
    mutating func skipLines() throws(TOMLError) {
        skipBlanks()
        while let byte = next, "#\r\n".utf8.contains(byte) {
            try endLine()
            skipBlanks()
        }
    }

    /// Returns an error at the current position.
    func error(_ message: String) -> TOMLError {
        TOMLError(position: position, message: message)
    }
}

extension UInt8 {
    /// Whether the byte is allowed in comments and strings, which excludes control characters (TOML 1.0,
    /// Comment).
    var isTOMLText: Bool { self >= 0x20 && self != 0x7F || self == UInt8(ascii: "\t") }

    /// Whether the byte is allowed in a key without quotes (TOML 1.0, Keys).
    var isBareKeyByte: Bool {
        isASCIILetter || isASCIIDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: "_")
    }
}
