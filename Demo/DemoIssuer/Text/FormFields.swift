// SPDX-License-Identifier: MIT

/// The fields of a query or of an `application/x-www-form-urlencoded` body, in their order.
package struct FormFields: Equatable, Sendable {
    package struct Field: Equatable, Sendable {
        package var name: String
        package var value: String
    }

    package var fields: [Field]

    package init(_ fields: [(String, String)] = []) {
        self.fields = fields.map { Field(name: $0.0, value: $0.1) }
    }

    /// Reads `a=b&c=d`; a field that does not decode to UTF-8 gets replacement characters.
    package init(parsing encoded: some Sequence<UInt8>) {
        fields = Array(encoded).split(separator: UInt8(ascii: "&")).map { pair in
            let halves = pair.split(
                separator: UInt8(ascii: "="),
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            return Field(
                name: PercentCoding.decode(halves[0]),
                value: halves.count > 1 ? PercentCoding.decode(halves[1]) : ""
            )
        }
    }

    /// The first value of `name`.
    package subscript(name: String) -> String? {
        fields.first { $0.name == name }?.value
    }

    /// Every value of `name`: `resource` may be repeated (RFC 8707 §2).
    package func all(_ name: String) -> [String] {
        fields.filter { $0.name == name }.map(\.value)
    }

    /// `a=b&c=d`, percent-encoded.
    package var encoded: String {
        fields.map { "\(PercentCoding.encode($0.name))=\(PercentCoding.encode($0.value))" }
            .joined(separator: "&")
    }
}

/// Percent-encoding as in forms: `+` is a blank.
enum PercentCoding {
    static func decode(_ encoded: some Collection<UInt8>) -> String {
        var bytes: [UInt8] = []
        var rest = Array(encoded)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let decoded = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                    bytes.append(byte)
                    continue
                }
                bytes.append(decoded)
                rest = rest.dropFirst(2)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func encode(_ text: String) -> String {
        var output = ""
        for byte in text.utf8 {
            if byte.isUnreserved {
                output.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                output += byte < 16 ? "%0" : "%"
                output += String(byte, radix: 16, uppercase: true)
            }
        }
        return output
    }
}

extension UInt8 {
    fileprivate var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~".utf8.contains(self)
        }
    }
}
