// SPDX-License-Identifier: MIT

extension RPCPacket {
    /// Returns some of the packet's messages as one line, with its line feed.
    func line(of kept: [RPCMessage]) -> [UInt8] {
        if kept.count == messages.count { return RPCPacket.line(bytes[...]) }
        guard isBatch else { return [] }
        var joined = [UInt8(ascii: "[")]
        for message in kept {
            if joined.count > 1 { joined.append(UInt8(ascii: ",")) }
            joined += bytes[message.range]
        }
        joined.append(UInt8(ascii: "]"))
        return RPCPacket.line(joined[...])
    }

    /// Returns a checked JSON text as one line, under any convention for line ends.
    ///
    /// CR and LF occur only between values, where a space is equivalent. NEL, LINE SEPARATOR and PARAGRAPH
    /// SEPARATOR occur only in strings, where an escape is equivalent.
    static func line(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(bytes.count + 1)
        var rest = bytes
        while let place = rest.firstIndex(where: { $0 == 0x0A || $0 == 0x0D || $0 == 0xC2 || $0 == 0xE2 }) {
            line += rest[..<place]
            rest = rest[place...]
            if let (length, replacement) = separator(rest) {
                line += Array(replacement.utf8)
                rest = rest.dropFirst(length)
            } else {
                line.append(rest[place])
                rest = rest.dropFirst()
            }
        }
        line += rest
        line.append(0x0A)
        return line
    }

    /// Returns the length of a line separator at the beginning and its replacement, or `nil` if there is
    /// none.
    private static func separator(_ bytes: ArraySlice<UInt8>) -> (length: Int, replacement: String)? {
        if bytes.first == 0x0A || bytes.first == 0x0D { return (1, " ") }
        if bytes.starts(with: [0xC2, 0x85]) { return (2, #"\u0085"#) }
        if bytes.starts(with: [0xE2, 0x80, 0xA8]) { return (3, #"\u2028"#) }
        if bytes.starts(with: [0xE2, 0x80, 0xA9]) { return (3, #"\u2029"#) }
        return nil
    }
}
