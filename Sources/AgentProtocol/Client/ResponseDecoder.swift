// SPDX-License-Identifier: MIT

/// A parser that finds the parts of responses in the bytes of a connection, however they were split into
/// reads.
package struct ResponseDecoder {
    package enum Part: Equatable {
        case head(ResponseHead)
        case body(ArraySlice<UInt8>)
        /// The response is complete.
        ///
        /// The next byte belongs to the next response.
        case end
    }

    /// The maximum size of a head in bytes.
    ///
    /// The agent's are under 300.
    static let maximumHeadLength = 16_384

    private enum State: Equatable {
        case head
        case length(Int)
        case chunkSize
        case chunk(Int)
        case chunkEnd
        case trailer
        case untilClose
        case end
    }

    private var state = State.head
    private var bytes: [UInt8] = []
    /// The number of `bytes` that were consumed.
    private var offset = 0

    /// Creates a decoder for the responses of one connection.
    package init() {}

    /// Appends bytes that were read.
    package mutating func append(_ read: some Sequence<UInt8>) {
        if offset == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            offset = 0
        }
        bytes.append(contentsOf: read)
    }

    /// Returns the next part, or `nil` if that needs more bytes.
    ///
    /// - Throws: ``ConnectionFailure/malformed(_:)`` if the bytes are not a valid response.
    package mutating func next() throws(ConnectionFailure) -> Part? {
        while true {
            switch state {
            case .head: return try takeHead().map(Part.head)
            case .length(0):
                state = .end
            case .length(let left):
                return take(upTo: left) { .length(left - $0) }
            case .chunkSize:
                guard let size = try takeChunkSize() else { return nil }
                state = size == 0 ? .trailer : .chunk(size)
            case .chunk(0):
                state = .chunkEnd
            case .chunk(let left):
                return take(upTo: left) { .chunk(left - $0) }
            case .chunkEnd:
                guard let line = try takeLine() else { return nil }
                guard line.isEmpty else { throw .malformed("bad chunk") }
                state = .chunkSize
            case .trailer:
                guard let line = try takeLine() else { return nil }
                if line.isEmpty { state = .end }
            case .untilClose:
                return take(upTo: .max) { _ in .untilClose }
            case .end:
                state = .head
                return .end
            }
        }
    }

    /// Ends the response with the connection, if the response's framing permits that.
    ///
    /// - Throws: ``ConnectionFailure/closed`` if the response is incomplete.
    package mutating func finish() throws(ConnectionFailure) -> Part {
        guard state == .untilClose else { throw .closed }
        state = .head
        return .end
    }

    private mutating func take(upTo limit: Int, then next: (Int) -> State) -> Part? {
        let count = min(limit, bytes.count - offset)
        guard count > 0 else { return nil }
        defer { offset += count }
        state = next(count)
        return .body(bytes[offset..<offset + count])
    }

    private mutating func takeHead() throws(ConnectionFailure) -> ResponseHead? {
        guard let end = endOfHead else {
            guard bytes.count - offset <= ResponseDecoder.maximumHeadLength else {
                throw .malformed("endless head")
            }
            return nil
        }
        let head = try ResponseHead(parsing: bytes[offset..<end])
        offset = end + 4
        // An interim response has no body and is followed by the final one (RFC 9110 §15.2).
        guard head.status >= 200 else { return try takeHead() }
        switch head.framing {
        case _ where head.status == 204: state = .end
        case .length(let length): state = .length(length)
        case .chunked: state = .chunkSize
        case .untilClose: state = .untilClose
        }
        return head
    }

    /// The index of the CR LF CR LF after the head.
    private var endOfHead: Int? {
        guard bytes.count - offset >= 4 else { return nil }
        return (offset...bytes.count - 4).first {
            bytes[$0] == 0x0D && bytes[$0 + 1] == 0x0A && bytes[$0 + 2] == 0x0D && bytes[$0 + 3] == 0x0A
        }
    }

    /// Returns the next line without its CR LF, or `nil` if it is incomplete.
    private mutating func takeLine() throws(ConnectionFailure) -> ArraySlice<UInt8>? {
        guard let newline = bytes[offset...].firstIndex(of: 0x0A) else {
            guard bytes.count - offset <= ResponseDecoder.maximumHeadLength else {
                throw .malformed("endless line")
            }
            return nil
        }
        guard newline > offset, bytes[newline - 1] == 0x0D else { throw .malformed("line without CR LF") }
        defer { offset = newline + 1 }
        return bytes[offset..<newline - 1]
    }

    /// Parses a chunk size: hexadecimal digits, then optional extensions (RFC 9112 §7.1).
    private mutating func takeChunkSize() throws(ConnectionFailure) -> Int? {
        guard let line = try takeLine() else { return nil }
        let digits = line.prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 }
        guard (1...8).contains(digits.count), digits.first != UInt8(ascii: "+"),
            let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size >= 0
        else { throw .malformed("bad chunk size") }
        return size
    }
}
