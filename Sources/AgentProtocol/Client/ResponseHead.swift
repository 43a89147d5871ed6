// SPDX-License-Identifier: MIT

/// Status line and headers of an answer, as far as a client needs them (RFC 9112 §4, §6).
struct ResponseHead: Equatable {
    /// How the end of the body is found.
    enum Framing: Equatable {
        case length(Int)
        case chunked
        case untilClose
    }

    let status: Int
    let framing: Framing
    let retryAfter: Duration?
    /// Whether the server ends the connection after this answer.
    let closes: Bool

    /// Reads the lines before the empty line, CR LF between them.
    init(parsing bytes: ArraySlice<UInt8>) throws(ConnectionFailure) {
        guard let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(0) else {
            throw .malformed("its head is not text")
        }
        let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
        status = try ResponseHead.status(lines.first ?? "")
        var length: Int?
        var isChunked = false
        var closes = false
        var retryAfter: Duration?
        for line in lines.dropFirst() {
            let (name, value) = try ResponseHead.field(line)
            switch name {
            case "content-length":
                guard length == nil, let number = ResponseHead.number(value) else {
                    throw .malformed("bad Content-Length")
                }
                length = number
            case "transfer-encoding":
                guard value.lowercased() == "chunked" else { throw .malformed("unknown Transfer-Encoding") }
                isChunked = true
            case "connection": closes = value.lowercased() == "close"
            case "retry-after": retryAfter = ResponseHead.number(value).map { .seconds($0) }
            default: break
            }
        }
        guard !isChunked || length == nil else { throw .malformed("two framings") }
        framing = isChunked ? .chunked : length.map(Framing.length) ?? .untilClose
        self.closes = closes || framing == .untilClose
        self.retryAfter = retryAfter
    }

    /// `HTTP/1.1 200 OK`.
    private static func status(_ line: Substring) throws(ConnectionFailure) -> Int {
        guard line.hasPrefix("HTTP/1.1 "), let status = number(line.dropFirst(9).prefix(3)),
            (100..<600).contains(status), line.dropFirst(12).first ?? " " == " "
        else { throw .malformed("no HTTP/1.1 status line") }
        return status
    }

    /// `Name: value`, the name in lower case.
    private static func field(_ line: Substring) throws(ConnectionFailure) -> (String, Substring) {
        guard let colon = line.firstIndex(of: ":"), colon != line.startIndex,
            line.utf8.allSatisfy({ $0 >= 0x20 || $0 == 0x09 }), line.first != " ", line.first != "\t"
        else { throw .malformed("bad header line") }
        var value = line[line.index(after: colon)...]
        while let first = value.first, first == " " || first == "\t" { value.removeFirst() }
        while let last = value.last, last == " " || last == "\t" { value.removeLast() }
        return (line[..<colon].lowercased(), value)
    }

    /// One to nine decimal digits.
    private static func number(_ text: Substring) -> Int? {
        guard (1...9).contains(text.utf8.count),
            text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
        else { return nil }
        return Int(text)
    }
}
