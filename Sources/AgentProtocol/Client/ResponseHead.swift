// SPDX-License-Identifier: MIT

import Text

/// The status line and headers of a response, as far as a client needs them (RFC 9112 §4, §6).
package struct ResponseHead: Equatable {
    /// The rule that determines the end of the body.
    enum Framing: Equatable {
        case length(Int)
        case chunked
        case untilClose
    }

    package let status: Int
    let framing: Framing
    package let retryAfter: Duration?
    /// Whether the server closes the connection after this response.
    package let closes: Bool

    /// Parses the lines before the empty line, separated by CR LF.
    init(parsing bytes: ArraySlice<UInt8>) throws(ConnectionFailure) {
        var lines = HTTPSyntax.lines(bytes)
        status = try ResponseHead.status(lines.next() ?? [])
        var length: Int?
        var isChunked = false
        var closes = false
        var retryAfter: Duration?
        while let line = lines.next() {
            guard let (name, value) = HTTPSyntax.field(line) else { throw .malformed("bad header line") }
            if name.says("content-length") {
                guard length == nil, let number = ResponseHead.number(value) else {
                    throw .malformed("bad Content-Length")
                }
                length = number
            } else if name.says("transfer-encoding") {
                guard value.says("chunked") else { throw .malformed("unknown Transfer-Encoding") }
                isChunked = true
            } else if name.says("connection") {
                closes = value.says("close")
            } else if name.says("retry-after") {
                retryAfter = ResponseHead.number(value).map { .seconds($0) }
            }
        }
        guard !isChunked || length == nil else { throw .malformed("two framings") }
        framing = isChunked ? .chunked : length.map(Framing.length) ?? .untilClose
        self.closes = closes || framing == .untilClose
        self.retryAfter = retryAfter
    }

    /// Parses a line such as `HTTP/1.1 200 OK`.
    private static func status(_ line: ArraySlice<UInt8>) throws(ConnectionFailure) -> Int {
        let rest = line.dropFirst(9)
        guard line.starts(with: "HTTP/1.1 ".utf8), let status = number(rest.prefix(3)),
            (100..<600).contains(status), rest.dropFirst(3).first ?? UInt8(ascii: " ") == UInt8(ascii: " ")
        else { throw .malformed("no HTTP/1.1 status line") }
        return status
    }

    /// Parses one to nine decimal digits.
    private static func number(_ text: ArraySlice<UInt8>) -> Int? {
        guard (1...9).contains(text.count), text.allSatisfy(\.isASCIIDigit) else { return nil }
        return Int(String(decoding: text, as: UTF8.self))
    }
}
