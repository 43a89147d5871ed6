// SPDX-License-Identifier: MIT

import StrictJSON

/// Takes request targets apart (RFC 3986 §3.3, §3.4).
enum PercentCoding {
    /// The decoded segments of an absolute path; `nil` when one can not be decoded.
    static func segments(of path: Substring) -> [ByteText]? {
        var segments: [ByteText] = []
        for part in Substring(path.utf8.dropFirst()).bytewise.split(on: "/", omittingEmpty: false) {
            guard let text = decode(part, plusIsBlank: false) else { return nil }
            segments.append(text.bytewise)
        }
        // One slash at the end names the same thing.
        if segments.count > 1, segments.last == "" { segments.removeLast() }
        return segments
    }

    /// The decoded parameters of a query, in their order; `nil` when one can not be decoded.
    static func parameters(of query: some StringProtocol) -> [(name: ByteText, value: String)]? {
        var parameters: [(name: ByteText, value: String)] = []
        for part in query.bytewise.split(on: "&") {
            let pieces = part.bytewise.split(on: "=", maxSplits: 1, omittingEmpty: false)
            guard let name = decode(pieces[0], plusIsBlank: true),
                let value = decode(pieces.count > 1 ? pieces[1] : "", plusIsBlank: true)
            else { return nil }
            parameters.append((name.bytewise, value))
        }
        return parameters
    }

    /// The bytes that pairs of hexadecimal digits stand for; `nil` where `text` is something else.
    static func bytes(ofHexDigits text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count / 2)
        var rest = text.utf8.makeIterator()
        while let first = rest.next() {
            guard let high = first.hexDigit, let low = rest.next()?.hexDigit else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func decode(_ text: some StringProtocol, plusIsBlank: Bool) -> String? {
        let utf8 = text.utf8
        guard utf8.contains(where: { $0 == UInt8(ascii: "%") || plusIsBlank && $0 == UInt8(ascii: "+") })
        else {
            return String(text)
        }
        var bytes: [UInt8] = []
        var rest = utf8.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next()?.hexDigit, let low = rest.next()?.hexDigit else { return nil }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsBlank: bytes.append(.blank)
            default: bytes.append(byte)
            }
        }
        guard !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var hexDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
