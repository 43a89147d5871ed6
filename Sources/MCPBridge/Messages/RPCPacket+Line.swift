// SPDX-License-Identifier: MIT

extension RPCPacket {
    /// Some of the packet's messages as one line, with its line feed.
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

    /// A checked JSON text as one line, whatever its reader takes for the end of a line.
    ///
    /// CR and LF stand between values only, where a blank does as well. NEL, LINE SEPARATOR and PARAGRAPH SEPARATOR stand
    /// in strings only, where an escape does.
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

    /// How many bytes at the beginning end a line for somebody, and what stands there instead.
    private static func separator(_ bytes: ArraySlice<UInt8>) -> (length: Int, replacement: String)? {
        if bytes.first == 0x0A || bytes.first == 0x0D { return (1, " ") }
        if bytes.starts(with: [0xC2, 0x85]) { return (2, #"\u0085"#) }
        if bytes.starts(with: [0xE2, 0x80, 0xA8]) { return (3, #"\u2028"#) }
        if bytes.starts(with: [0xE2, 0x80, 0xA9]) { return (3, #"\u2029"#) }
        return nil
    }
}
