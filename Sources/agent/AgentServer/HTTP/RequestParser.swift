// SPDX-License-Identifier: MIT

import Glibc
import NIOCore

/// A parser that extracts requests from a stream of bytes, in whatever pieces the bytes arrive.
struct RequestParser {
    /// The results of one step of the parser.
    enum StepResult: Equatable {
        case request(HTTPRequest)
        case needsMore
        /// The head is complete, and the peer waits for `100 Continue` before it sends the body (RFC 9110
        /// §10.1.1).
        case wantsContinue
    }

    private let limits: RequestLimits
    /// The bytes of the last head and the parsed head, because clients repeat the same bytes.
    ///
    /// It contains no decision about the request and no secret: secrets are in bodies.
    private var last: (bytes: [UInt8], head: HTTPRequestHead)?
    /// The maximum length in bytes of a head kept in `last`, so that many connections use little memory.
    private static let maximumCachedHead = 256
    /// The complete head of a request whose body is still arriving.
    private var head: HTTPRequestHead?
    /// The number of bytes of the current head that have been searched for its end.
    private var searched = 0
    /// Whether the one empty line allowed before the current head has been skipped.
    private var hasSkippedLine = false

    init(limits: RequestLimits) {
        self.limits = limits
    }

    /// Whether a head has been read, but not yet its body.
    var isInsideRequest: Bool { head != nil }

    /// Removes the next request from `input`, if it is complete.
    ///
    /// - Throws: ``RequestError`` if the request is malformed or too long.
    mutating func next(from input: inout ByteBuffer) throws(RequestError) -> StepResult {
        var isNewHead = false
        if head == nil {
            skipEmptyLine(in: &input)
            guard let count = try headCount(in: input) else { return .needsMore }
            head = try parseHead(count, from: &input)
            hasSkippedLine = false
            isNewHead = true
        }
        guard let head else { return .needsMore }
        guard input.readableBytes >= head.contentLength else {
            return isNewHead && head.expectsContinue ? .wantsContinue : .needsMore
        }
        let body = head.contentLength > 0 ? input.readBytes(length: head.contentLength) ?? [] : []
        self.head = nil
        return .request(HTTPRequest(head: head, body: body))
    }

    /// Skips one empty line, because some old clients end a body with one line end too many (RFC 9112 §2.2).
    private mutating func skipEmptyLine(in input: inout ByteBuffer) {
        guard !hasSkippedLine, searched < 2, input.readableBytes >= 2,
            input.readableBytesView.first == .carriageReturn,
            input.readableBytesView.dropFirst().first == .lineFeed
        else { return }
        input.moveReaderIndex(forwardBy: 2)
        searched = 0
        hasSkippedLine = true
    }

    /// Returns the number of bytes of the head with its empty line, or `nil` if that line has not arrived.
    private mutating func headCount(in input: ByteBuffer) throws(RequestError) -> Int? {
        let bytes = input.readableBytesUInt8Span
        var index = searched
        while index < bytes.count {
            if bytes[index] == .lineFeed {
                guard index > 0, bytes[index - 1] == .carriageReturn else { throw .malformed }
                if index >= 3, bytes[index - 2] == .lineFeed {
                    searched = 0
                    return index + 1
                }
            }
            index += 1
        }
        searched = index
        guard index <= limits.requestLine + limits.headers + 4 else { throw .headersTooLong }
        guard index <= limits.requestLine + 1 || hasLineEnd(bytes) else { throw .lineTooLong }
        return nil
    }

    private func hasLineEnd(_ bytes: Span<UInt8>) -> Bool {
        for index in 0...limits.requestLine + 1 where bytes[index] == .lineFeed { return true }
        return false
    }

    private mutating func parseHead(
        _ count: Int,
        from input: inout ByteBuffer
    ) throws(RequestError) -> HTTPRequestHead {
        if let last, repeats(last.bytes, count, in: input) {
            input.moveReaderIndex(forwardBy: count)
            return last.head
        }
        guard let bytes = input.readBytes(length: count) else { throw .malformed }
        var parser = HeadParser(bytes: bytes, limits: limits)
        let head = try parser.parse()
        last = count <= Self.maximumCachedHead ? (bytes, head) : nil
        return head
    }

    private func repeats(_ bytes: [UInt8], _ count: Int, in input: ByteBuffer) -> Bool {
        guard bytes.count == count else { return false }
        return unsafe input.withUnsafeReadableBytes { new in
            unsafe bytes.withUnsafeBytes { old in
                guard let old = old.baseAddress, let new = new.baseAddress else { return count == 0 }
                return unsafe memcmp(old, new, count) == 0
            }
        }
    }
}

extension UInt8 {
    static let carriageReturn = UInt8(ascii: "\r")
    static let lineFeed = UInt8(ascii: "\n")
    static let blank = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")
}
