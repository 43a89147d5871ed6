// SPDX-License-Identifier: MIT

/// Collects the header fields of one request and judges them together.
struct HeaderFields {
    private let isHTTP11: Bool
    private var host: String?
    private var contentLength: Int?
    private var isChunked = false
    private var keepsAlive: Bool
    private var expectsContinue = false
    private var prefersPlainText = false
    private var isFromBrowser = false

    init(isHTTP11: Bool) {
        self.isHTTP11 = isHTTP11
        keepsAlive = isHTTP11
    }

    /// Takes one line, `name: value` (RFC 9112 §5); folded lines and blanks before the colon are refused.
    mutating func add(_ line: ArraySlice<UInt8>) throws(RequestRefusal) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
            line[..<colon].allSatisfy(\.isTokenByte)
        else { throw .malformed }
        let value = line[(colon + 1)...].trimmed
        guard value.allSatisfy(\.isValueByte) else { throw .malformed }
        try take(Name(line[..<colon]), value)
    }

    /// The finished head, once all fields are in.
    func head(
        method: HTTPRequest.Method,
        target: ArraySlice<UInt8>,
        limits: RequestLimits
    ) throws(RequestRefusal) -> HTTPRequestHead {
        guard !isFromBrowser else { throw .fromBrowser }
        guard let host, Self.isOurs(host) else { throw .wrongHost }
        if isChunked { throw contentLength == nil ? .chunkedBody : .malformed }
        let length = contentLength ?? 0
        guard length <= limits.body else { throw .bodyTooLong }
        return HTTPRequestHead(
            method: method,
            target: try originForm(target),
            isHTTP11: isHTTP11,
            keepsAlive: keepsAlive,
            contentLength: length,
            expectsContinue: expectsContinue && isHTTP11,
            prefersPlainText: prefersPlainText
        )
    }

    private mutating func take(_ name: Name, _ value: ArraySlice<UInt8>) throws(RequestRefusal) {
        switch name {
        case .host:
            guard host == nil else { throw .wrongHost }
            host = value.lowercased
        case .contentLength:
            guard contentLength == nil else { throw .malformed }
            contentLength = try length(value)
        case .transferEncoding: isChunked = true
        case .origin, .referer: isFromBrowser = true
        case .connection: takeConnection(value)
        case .expect:
            guard value.lowercased == "100-continue" else { throw .unknownExpectation }
            expectsContinue = true
        case .accept: prefersPlainText = value.lowercased.prefersPlainText
        case .unimportant: break
        }
    }

    private func length(_ value: ArraySlice<UInt8>) throws(RequestRefusal) -> Int {
        guard !value.isEmpty, value.allSatisfy({ (0x30...0x39).contains($0) }) else { throw .malformed }
        // Longer than any body we take; also keeps the number in range.
        guard value.count <= 9, let length = Int(String(decoding: value, as: UTF8.self)) else {
            throw .bodyTooLong
        }
        return length
    }

    private mutating func takeConnection(_ value: ArraySlice<UInt8>) {
        for option in value.lowercased.split(separator: ",") {
            switch option.trimmingBlanks {
            case "close": keepsAlive = false
            case "keep-alive" where !isHTTP11: keepsAlive = true
            default: break
            }
        }
    }

    /// `/path`, also out of `http://tokenagent/path` (RFC 9112 §3.2).
    private func originForm(_ target: ArraySlice<UInt8>) throws(RequestRefusal) -> String {
        if target.first == UInt8(ascii: "/") { return String(decoding: target, as: UTF8.self) }
        let scheme = "http://".utf8
        guard target.prefix(scheme.count).lowercased.utf8.elementsEqual(scheme) else { throw .malformed }
        let rest = target.dropFirst(scheme.count)
        let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        guard Self.isOurs(rest[..<slash].lowercased) else { throw .wrongHost }
        return slash == rest.endIndex ? "/" : String(decoding: rest[slash...], as: UTF8.self)
    }

    private static func isOurs(_ host: String) -> Bool {
        host == "tokenagent" || host == "localhost"
    }
}

extension HeaderFields {
    /// The fields that change what the agent does.
    private enum Name: String {
        case host
        case contentLength = "content-length"
        case transferEncoding = "transfer-encoding"
        case origin
        case referer
        case connection
        case expect
        case accept
        case unimportant = ""

        init(_ bytes: ArraySlice<UInt8>) {
            // Lengths first: most fields are none of ours and need no string.
            switch bytes.count {
            case 4, 6, 7, 10, 14, 17: self = Name(rawValue: bytes.lowercased) ?? .unimportant
            default: self = .unimportant
            }
        }
    }
}

extension ArraySlice<UInt8> {
    /// Without blanks and tabs at both ends.
    fileprivate var trimmed: ArraySlice<UInt8> {
        var slice = self
        while let first = slice.first, first == .blank || first == .tab { slice.removeFirst() }
        while let last = slice.last, last == .blank || last == .tab { slice.removeLast() }
        return slice
    }

    fileprivate var lowercased: String {
        String(decoding: self, as: UTF8.self).lowercased()
    }
}

extension StringProtocol {
    fileprivate var trimmingBlanks: SubSequence {
        var rest = self[...]
        while let first = rest.first, first == " " || first == "\t" { rest = rest.dropFirst() }
        while let last = rest.last, last == " " || last == "\t" { rest = rest.dropLast() }
        return rest
    }

    /// Whether `text/plain` is the first of the media types we know (RFC 9110 §12.5.1, weights left aside).
    fileprivate var prefersPlainText: Bool {
        for range in split(separator: ",") {
            let type = range.prefix { $0 != ";" }
            switch type.trimmingBlanks {
            case "text/plain", "text/*": return true
            case "application/json", "application/*", "*/*": return false
            default: continue
            }
        }
        return false
    }
}
