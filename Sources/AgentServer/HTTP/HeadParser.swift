// SPDX-License-Identifier: MIT

/// Reads one complete request head, strictly: what two HTTP implementations might read differently is refused.
struct HeadParser {
    private let bytes: [UInt8]
    private let limits: RequestLimits
    private var offset = 0

    /// - Parameters:
    ///   - bytes: the head with its final empty line, every line ended by CR LF.
    ///   - limits: what the request line and the fields may be long.
    init(bytes: [UInt8], limits: RequestLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    mutating func parse() throws(RequestRefusal) -> HTTPRequestHead {
        let line = takeLine()
        guard line.count <= limits.requestLine else { throw .lineTooLong }
        guard bytes.count - offset - 2 <= limits.headers else { throw .headersTooLong }
        let (method, target, isHTTP11) = try requestLine(line)
        var fields = HeaderFields(isHTTP11: isHTTP11)
        while true {
            let field = takeLine()
            if field.isEmpty { break }
            try fields.add(field)
        }
        return try fields.head(method: method, target: target, limits: limits)
    }

    /// The next line without its end.
    private mutating func takeLine() -> ArraySlice<UInt8> {
        let start = offset
        while bytes[offset] != .lineFeed { offset += 1 }
        offset += 1
        return bytes[start..<offset - 2]
    }

    /// `method SP request-target SP HTTP-version` (RFC 9112 §3), single blanks only.
    private func requestLine(
        _ line: ArraySlice<UInt8>
    ) throws(RequestRefusal) -> (method: HTTPRequest.Method, target: ArraySlice<UInt8>, isHTTP11: Bool) {
        guard let first = line.firstIndex(of: .blank), let last = line.lastIndex(of: .blank), first < last
        else { throw .malformed }
        let isHTTP11 = try version(line[(last + 1)...])
        let method = line[..<first]
        guard !method.isEmpty, method.allSatisfy(\.isTokenByte) else { throw .malformed }
        let target = line[first + 1..<last]
        guard !target.isEmpty, target.allSatisfy(\.isTargetByte) else { throw .malformed }
        let known = HTTPRequest.Method(rawValue: String(decoding: method, as: UTF8.self))
        return (known ?? .other, target, isHTTP11)
    }

    private func version(_ text: ArraySlice<UInt8>) throws(RequestRefusal) -> Bool {
        if text.elementsEqual("HTTP/1.1".utf8) { return true }
        if text.elementsEqual("HTTP/1.0".utf8) { return false }
        guard text.count == 8, text.starts(with: "HTTP/".utf8) else { throw .malformed }
        throw .unsupportedVersion
    }
}

extension UInt8 {
    /// A byte of a method or field name (`tchar`, RFC 9110 §5.6.2).
    var isTokenByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "!"), UInt8(ascii: "#"),
            UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"), UInt8(ascii: "'"),
            UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Printable ASCII but the blank and the fragment mark.
    fileprivate var isTargetByte: Bool {
        (0x21...0x7E).contains(self) && self != UInt8(ascii: "#")
    }

    /// A byte of a field value: anything but control characters (RFC 9110 §5.5).
    var isValueByte: Bool {
        self >= 0x20 && self != 0x7F || self == .tab
    }
}
