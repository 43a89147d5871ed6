// SPDX-License-Identifier: MIT

/// A writer for the payload of a frame.
struct ByteWriter {
    var bytes: [UInt8] = []

    /// Appends `value` in big-endian byte order.
    mutating func append(_ value: some FixedWidthInteger) {
        for shift in stride(from: value.bitWidth - 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Appends `text` as UTF-8 after its length (4 bytes).
    mutating func append(_ text: String) {
        append(UInt32(clamping: text.utf8.count))
        bytes += Array(text.utf8)
    }

    /// Returns the bytes as the payload of a frame of `kind`.
    func framed(as kind: RunnerFrameKind) -> [UInt8] {
        var frame = ByteWriter()
        frame.append(UInt32(clamping: bytes.count + 1))
        frame.append(kind.rawValue)
        return frame.bytes + bytes
    }
}

/// A reader for the payload of a frame; its functions return `nil` if the payload is too short.
struct FrameReader {
    private let bytes: [UInt8]
    private var index = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { index == bytes.count }

    var rest: [UInt8] { Array(bytes[index...]) }

    mutating func integer<Value: FixedWidthInteger>() -> Value? {
        let count = Value.bitWidth / 8
        guard bytes.count - index >= count else { return nil }
        let value = bytes[index..<index + count].reduce(Value(0)) {
            ($0 << 8) | Value(truncatingIfNeeded: $1)
        }
        index += count
        return value
    }

    /// Returns the next `count` bytes.
    mutating func bytes(_ count: Int) -> [UInt8]? {
        guard bytes.count - index >= count else { return nil }
        defer { index += count }
        return Array(bytes[index..<index + count])
    }

    /// Returns the next string, or `nil` if it is incomplete, contains NUL or is not UTF-8.
    mutating func string() -> String? {
        guard let count: UInt32 = integer(), bytes.count - index >= Int(count) else { return nil }
        defer { index += Int(count) }
        let text = bytes[index..<index + Int(count)]
        guard !text.contains(0) else { return nil }
        return String(validating: text, as: UTF8.self)
    }
}
