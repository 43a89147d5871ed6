// SPDX-License-Identifier: MIT

/// An `application/x-www-form-urlencoded` body whose bytes are wiped when it is gone.
///
/// Built by one owner, then only read.
final class FormBody: Sendable {
    private let buffer = WipingBuffer()

    init() {}

    convenience init(_ parameters: [(name: String, value: String)]) {
        self.init()
        for (name, value) in parameters { add(name, value) }
    }

    func add(_ name: String, _ value: String) {
        var value = value
        value.withUTF8 { bytes in unsafe add(name, secret: UnsafeRawBufferPointer(bytes)) }
    }

    /// Adds a parameter whose value exists nowhere else in the clear.
    func add(_ name: String, secret value: UnsafeRawBufferPointer) {
        if buffer.count > 0 { buffer.append(UInt8(ascii: "&")) }
        appendEncoded(name.utf8)
        buffer.append(UInt8(ascii: "="))
        unsafe appendEncoded(value)
    }

    /// Lends the bytes.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe buffer.withBytes(body)
    }

    private func appendEncoded(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { FormEncoding.encode(byte) { buffer.append($0) } }
    }
}

/// The encoding of HTML forms, as OAuth uses it in bodies and in Basic credentials (RFC 6749 appendix B).
enum FormEncoding {
    /// Whether `byte` stands for itself.
    static func keeps(_ byte: UInt8) -> Bool {
        byte.isASCIIDigit || byte.isASCIILetter || "-._*".utf8.contains(byte)
    }

    /// Hands the one or three bytes that stand for `byte` to `output`.
    static func encode(_ byte: UInt8, _ output: (UInt8) -> Void) {
        switch byte {
        case UInt8(ascii: " "): output(UInt8(ascii: "+"))
        case _ where keeps(byte): output(byte)
        default:
            output(UInt8(ascii: "%"))
            output(hexDigit(byte >> 4))
            output(hexDigit(byte & 15))
        }
    }

    static func encoded(_ text: String) -> String {
        var output: [UInt8] = []
        for byte in text.utf8 { encode(byte) { output.append($0) } }
        return String(decoding: output, as: UTF8.self)
    }

    /// The parameters of a query string; `nil` when an escape or the UTF-8 is broken.
    static func decode(_ query: some StringProtocol) -> [(name: String, value: String)]? {
        var parameters: [(name: String, value: String)] = []
        for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(
                separator: UInt8(ascii: "="),
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            guard let name = decodeOne(parts[0]),
                let value = decodeOne(parts.count > 1 ? parts[1] : parts[0][..<parts[0].startIndex])
            else { return nil }
            parameters.append((name, value))
        }
        return parameters
    }

    private static func decodeOne(_ bytes: some Sequence<UInt8>) -> String? {
        var output: [UInt8] = []
        var iterator = bytes.makeIterator()
        while let byte = iterator.next() {
            switch byte {
            case UInt8(ascii: "+"): output.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = iterator.next().flatMap(hexValue),
                    let low = iterator.next().flatMap(hexValue)
                else { return nil }
                output.append(high << 4 | low)
            default: output.append(byte)
            }
        }
        return String(validating: output, as: UTF8.self)
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    private static func hexValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
