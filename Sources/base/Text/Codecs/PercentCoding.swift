// SPDX-License-Identifier: MIT

/// Percent-encoding: bytes as `%` and two hexadecimal digits (RFC 3986 §2.1).
package enum PercentCoding {
    /// Encodes `text`, escaping every byte that is not unreserved.
    package static func encoded(_ text: String) -> String {
        var output: [UInt8] = []
        for byte in text.utf8 {
            if byte.isUnreserved { output.append(byte) } else { escape(byte) { output.append($0) } }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Passes the three bytes of the escape for `byte` to `output`.
    package static func escape(_ byte: UInt8, isUpper: Bool = true, _ output: (UInt8) -> Void) {
        let (high, low) = Hex.digits(of: byte, isUpper: isUpper)
        output(UInt8(ascii: "%"))
        output(high)
        output(low)
    }

    /// Decodes `bytes`, or returns `nil` if an escape or the UTF-8 is invalid.
    ///
    /// `plusIsBlank` is `true` for forms and queries, which write a space as `+`.
    package static func decoded(_ bytes: some Collection<UInt8>, plusIsBlank: Bool) -> String? {
        guard bytes.contains(where: { $0 == UInt8(ascii: "%") || plusIsBlank && $0 == UInt8(ascii: "+") })
        else {
            return String(validating: bytes, as: UTF8.self)
        }
        var output: [UInt8] = []
        var rest = bytes.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next()?.hexDigitValue, let low = rest.next()?.hexDigitValue else {
                    return nil
                }
                output.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsBlank: output.append(UInt8(ascii: " "))
            default: output.append(byte)
            }
        }
        return String(validating: output, as: UTF8.self)
    }
}

/// The encoding of HTML forms, which OAuth uses in bodies and in Basic credentials (RFC 6749 Appendix B).
package enum FormEncoding {
    /// Returns whether `byte` is written without an escape.
    package static func keeps(_ byte: UInt8) -> Bool {
        byte.isASCIIDigit || byte.isASCIILetter || "-._*".utf8.contains(byte)
    }

    /// Passes the one or three bytes that encode `byte` to `output`.
    package static func encode(_ byte: UInt8, _ output: (UInt8) -> Void) {
        switch byte {
        case UInt8(ascii: " "): output(UInt8(ascii: "+"))
        case _ where keeps(byte): output(byte)
        default: PercentCoding.escape(byte, output)
        }
    }

    package static func encoded(_ text: String) -> String {
        var output: [UInt8] = []
        for byte in text.utf8 { encode(byte) { output.append($0) } }
        return String(decoding: output, as: UTF8.self)
    }

    /// Decodes a query into its parameters in order, or returns `nil` if an escape or the UTF-8 is invalid.
    package static func decoded(_ query: some StringProtocol) -> [(name: String, value: String)]? {
        let pairs = pairs(of: query)
        let parameters = pairs.compactMap(\.self)
        return parameters.count == pairs.count ? parameters : nil
    }

    /// Decodes each parameter of a query alone, in order; one with an invalid escape or UTF-8 is `nil`.
    package static func pairs(of query: some StringProtocol) -> [(name: String, value: String)?] {
        query.bytewise.split(on: "&").map { pair in
            let parts = pair.bytewise.split(on: "=", maxSplits: 1, omittingEmpty: false)
            let value = parts.count > 1 ? parts[1].utf8 : "".utf8[...]
            guard let name = PercentCoding.decoded(parts[0].utf8, plusIsBlank: true),
                let value = PercentCoding.decoded(value, plusIsBlank: true)
            else { return nil }
            return (name, value)
        }
    }
}
