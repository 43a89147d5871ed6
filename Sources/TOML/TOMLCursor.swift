// SPDX-License-Identifier: MIT

/// Goes through the bytes of a TOML text and knows the line it is on.
struct TOMLCursor {
    private let bytes: [UInt8]
    private var offset: Int
    private var line = 1
    private var lineStart: Int

    /// - Parameter bytes: UTF-8; a byte-order mark at the beginning is not part of the text.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        offset = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        lineStart = offset
    }

    var position: TOMLPosition { TOMLPosition(line: line, column: offset - lineStart + 1) }

    /// The byte that comes next; `nil` at the end of the text.
    var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    /// The byte `distance` behind ``next``.
    func peek(_ distance: Int) -> UInt8? {
        distance < bytes.count - offset ? bytes[offset + distance] : nil
    }

    /// Goes past one byte, which is no line's end.
    mutating func advance() {
        offset += 1
    }

    /// Goes past `byte` if that comes next.
    mutating func take(_ byte: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: byte) else { return false }
        offset += 1
        return true
    }

    /// Goes past three of `byte` if they come next.
    mutating func takeThree(_ byte: UInt8) -> Bool {
        guard next == byte, peek(1) == byte, peek(2) == byte else { return false }
        offset += 3
        return true
    }

    /// Goes past the bytes that `belong`, and returns them.
    mutating func take(while belong: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = offset
        while offset < bytes.count, belong(bytes[offset]) { offset += 1 }
        return bytes[start..<offset]
    }

    /// Goes past the end of a line, LF or CR LF, if that comes next.
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

    /// Goes past blanks, a comment, and the end of the line.
    ///
    /// - Throws: ``TOMLError`` where something else stands on the line.
    mutating func endLine() throws(TOMLError) {
        skipBlanks()
        if next == UInt8(ascii: "#") { _ = take(while: \.isTOMLText) }
        guard next == nil || takeLineEnd() else {
            throw error("the line should end here: something is written that does not belong there")
        }
    }

    /// Goes past blanks, comments and ends of lines, as they may stand between the elements of an array.
    mutating func skipLines() throws(TOMLError) {
        skipBlanks()
        while let byte = next, "#\r\n".utf8.contains(byte) {
            try endLine()
            skipBlanks()
        }
    }

    /// An error at the current position.
    func error(_ message: String) -> TOMLError {
        TOMLError(position: position, message: message)
    }
}

extension UInt8 {
    /// Not a control character: may stand in comments and strings (TOML 1.0, Comment).
    var isTOMLText: Bool { self >= 0x20 && self != 0x7F || self == UInt8(ascii: "\t") }

    /// May stand in a key without quotes (TOML 1.0, Keys).
    var isBareKeyByte: Bool {
        isASCIILetter || isASCIIDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: "_")
    }
}
