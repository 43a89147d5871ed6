// SPDX-License-Identifier: MIT

/// Bytes as `%` and two hexadecimal digits (RFC 3986 §2.1).
package enum PercentCoding {
    /// `text` with every byte escaped that is not unreserved.
    package static func encoded(_ text: String) -> String {
        var output: [UInt8] = []
        for byte in text.utf8 {
            if byte.isUnreserved { output.append(byte) } else { escape(byte) { output.append($0) } }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Hands the three bytes that stand for `byte` to `output`.
    package static func escape(_ byte: UInt8, isUpper: Bool = true, _ output: (UInt8) -> Void) {
        let (high, low) = Hex.digits(of: byte, isUpper: isUpper)
        output(UInt8(ascii: "%"))
        output(high)
        output(low)
    }

    /// The text that `bytes` stand for; `nil` if an escape or the UTF-8 is broken.
    ///
    /// Forms and queries write a blank as `+`: for them `plusIsBlank` is true.
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

/// The encoding of HTML forms, as OAuth uses it in bodies and in Basic credentials (RFC 6749 appendix B).
package enum FormEncoding {
    /// Whether `byte` stands for itself.
    package static func keeps(_ byte: UInt8) -> Bool {
        byte.isASCIIDigit || byte.isASCIILetter || "-._*".utf8.contains(byte)
    }

    /// Hands the one or three bytes that stand for `byte` to `output`.
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

    /// The parameters of a query, in their order; `nil` where an escape or the UTF-8 is broken.
    package static func decoded(_ query: some StringProtocol) -> [(name: String, value: String)]? {
        var parameters: [(name: String, value: String)] = []
        for pair in query.bytewise.split(on: "&") {
            let parts = pair.bytewise.split(on: "=", maxSplits: 1, omittingEmpty: false)
            guard let name = PercentCoding.decoded(parts[0].utf8, plusIsBlank: true),
                let value = PercentCoding.decoded(
                    parts.count > 1 ? parts[1].utf8 : "".utf8[...],
                    plusIsBlank: true
                )
            else { return nil }
            parameters.append((name, value))
        }
        return parameters
    }
}
