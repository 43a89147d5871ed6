// SPDX-License-Identifier: MIT

import Text

/// A strict parser for one complete request head.
///
/// It rejects anything that two HTTP implementations might read differently.
struct HeadParser {
    private let bytes: [UInt8]
    private let limits: RequestLimits
    private var offset = 0

    /// Creates a parser of one request head.
    ///
    /// - Parameters:
    ///   - bytes: The head with its final empty line, every line ending with CR LF.
    ///   - limits: The maximum lengths of the request line and the fields.
    init(bytes: [UInt8], limits: RequestLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    mutating func parse() throws(RequestError) -> HTTPRequestHead {
        let line = takeLine()
        guard line.count <= limits.requestLine else { throw .lineTooLong }
        guard bytes.count - offset - 2 <= limits.headers else { throw .headersTooLong }
        guard let request = HTTPSyntax.requestLine(line) else { throw .malformed }
        let isHTTP11 = request.isVersion("HTTP/1.1")
        guard isHTTP11 || request.isVersion("HTTP/1.0") else { throw .unsupportedVersion }
        let method = HTTPRequest.Method(rawValue: String(decoding: request.method, as: UTF8.self)) ?? .other
        var fields = RequestHeadBuilder(isHTTP11: isHTTP11)
        while true {
            let field = takeLine()
            if field.isEmpty { break }
            try fields.add(field)
        }
        return try fields.head(method: method, target: request.target, limits: limits)
    }

    /// Removes the next line, and returns it without its line end.
    private mutating func takeLine() -> ArraySlice<UInt8> {
        let start = offset
        while bytes[offset] != .lineFeed { offset += 1 }
        offset += 1
        return bytes[start..<offset - 2]
    }
}
