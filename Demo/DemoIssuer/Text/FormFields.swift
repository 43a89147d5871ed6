// SPDX-License-Identifier: MIT

import Text

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

    /// Parses `a=b&c=d`.
    ///
    /// A field that cannot be decoded is kept as written.
    package init(parsing encoded: some Sequence<UInt8>) {
        fields = Array(encoded).split(separator: UInt8(ascii: "&")).map { pair in
            let halves = pair.split(
                separator: UInt8(ascii: "="),
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            return Field(
                name: FormFields.text(halves[0]),
                value: halves.count > 1 ? FormFields.text(halves[1]) : ""
            )
        }
    }

    /// Decodes a text, or returns it as written if it cannot be decoded.
    private static func text(_ encoded: ArraySlice<UInt8>) -> String {
        PercentCoding.decoded(encoded, plusIsBlank: true) ?? String(decoding: encoded, as: UTF8.self)
    }

    /// The first value of `name`.
    package subscript(name: String) -> String? {
        fields.first { $0.name == name }?.value
    }

    /// Returns every value of `name`.
    ///
    /// For example, `resource` may be repeated (RFC 8707 §2).
    package func all(_ name: String) -> [String] {
        fields.filter { $0.name == name }.map(\.value)
    }

    /// The fields as `a=b&c=d`, percent-encoded.
    package var encoded: String {
        fields.map { "\(PercentCoding.encoded($0.name))=\(PercentCoding.encoded($0.value))" }
            .joined(separator: "&")
    }
}
