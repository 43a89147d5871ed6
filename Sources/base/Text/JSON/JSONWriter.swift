// SPDX-License-Identifier: MIT

extension JSONValue {
    /// The value as UTF-8 JSON on one line, with members in order and without blanks.
    package var serialized: [UInt8] {
        var output: [UInt8] = []
        write(to: &output)
        return output
    }

    /// ``serialized`` as a string.
    package var text: String { String(decoding: serialized, as: UTF8.self) }

    /// Appends ``serialized`` to `output`.
    package func write(to output: inout [UInt8]) {
        switch self {
        case .null: output.append(contentsOf: "null".utf8)
        case .bool(let value): output.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let literal): output.append(contentsOf: literal.utf8)
        case .string(let text): JSONStringWriter.write(text.utf8, to: &output)
        case .array(let elements):
            JSONValue.writeList(elements, between: "[", and: "]", to: &output) { $0.write(to: &$1) }
        case .object(let object):
            JSONValue.writeList(object.members, between: "{", and: "}", to: &output) { member, output in
                JSONStringWriter.write(member.name.utf8, to: &output)
                output.append(UInt8(ascii: ":"))
                member.value.write(to: &output)
            }
        }
    }

    private static func writeList<Element>(
        _ elements: [Element],
        between opening: Unicode.Scalar,
        and closing: Unicode.Scalar,
        to output: inout [UInt8],
        write: (Element, inout [UInt8]) -> Void
    ) {
        output.append(UInt8(ascii: opening))
        for (index, element) in elements.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            write(element, &output)
        }
        output.append(UInt8(ascii: closing))
    }
}

/// The writer of JSON strings (RFC 8259 §7).
package enum JSONStringWriter {
    /// Returns whether `byte` must be escaped in a string.
    static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == 0x7F || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// Appends `utf8` as a quoted string, escaping control characters and DEL.
    package static func write(_ utf8: some Sequence<UInt8>, to output: inout [UInt8]) {
        write(utf8) { output.append($0) }
    }

    /// Passes `utf8` as a quoted string to `output`, byte by byte, for callers that avoid an array.
    package static func write(_ utf8: some Sequence<UInt8>, _ output: (UInt8) -> Void) {
        output(UInt8(ascii: "\""))
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                output(UInt8(ascii: "\\"))
                output(byte)
            case 0..<0x20, 0x7F:
                let (high, low) = Hex.digits(of: byte)
                for part in [0x5C, 0x75, 0x30, 0x30, high, low] { output(part) }
            default: output(byte)
            }
        }
        output(UInt8(ascii: "\""))
    }
}
