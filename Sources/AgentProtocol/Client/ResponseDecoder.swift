// SPDX-License-Identifier: MIT

/// Finds the parts of answers in the bytes of a connection, however they were cut into reads.
package struct ResponseDecoder {
    package enum Part: Equatable {
        case head(ResponseHead)
        case body(ArraySlice<UInt8>)
        /// The answer is complete; the next byte belongs to the next answer.
        case end
    }

    /// Most bytes of a head; the agent's are under 300.
    static let longestHead = 16_384

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
    /// How many of `bytes` have been consumed.
    private var offset = 0

    /// A decoder for the answers of one connection.
    package init() {}

    /// Takes what was read.
    package mutating func append(_ read: some Sequence<UInt8>) {
        if offset == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            offset = 0
        }
        bytes.append(contentsOf: read)
    }

    /// The next part, or nil if more bytes are needed for one.
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

    /// Takes the end of the connection as the end of the answer, if the answer's framing allows that.
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
            guard bytes.count - offset <= ResponseDecoder.longestHead else {
                throw .malformed("endless head")
            }
            return nil
        }
        let head = try ResponseHead(parsing: bytes[offset..<end])
        offset = end + 4
        // An interim answer has no body and is followed by the real one (RFC 9110 §15.2).
        guard head.status >= 200 else { return try takeHead() }
        switch head.framing {
        case _ where head.status == 204: state = .end
        case .length(let length): state = .length(length)
        case .chunked: state = .chunkSize
        case .untilClose: state = .untilClose
        }
        return head
    }

    /// Where the CR LF CR LF after the head begins.
    private var endOfHead: Int? {
        guard bytes.count - offset >= 4 else { return nil }
        return (offset...bytes.count - 4).first {
            bytes[$0] == 0x0D && bytes[$0 + 1] == 0x0A && bytes[$0 + 2] == 0x0D && bytes[$0 + 3] == 0x0A
        }
    }

    /// The next line without its CR LF.
    private mutating func takeLine() throws(ConnectionFailure) -> ArraySlice<UInt8>? {
        guard let newline = bytes[offset...].firstIndex(of: 0x0A) else {
            guard bytes.count - offset <= ResponseDecoder.longestHead else {
                throw .malformed("endless line")
            }
            return nil
        }
        guard newline > offset, bytes[newline - 1] == 0x0D else { throw .malformed("line without CR LF") }
        defer { offset = newline + 1 }
        return bytes[offset..<newline - 1]
    }

    /// Hexadecimal digits, then perhaps extensions (RFC 9112 §7.1).
    private mutating func takeChunkSize() throws(ConnectionFailure) -> Int? {
        guard let line = try takeLine() else { return nil }
        let digits = line.prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 }
        guard (1...8).contains(digits.count), digits.first != UInt8(ascii: "+"),
            let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size >= 0
        else { throw .malformed("bad chunk size") }
        return size
    }
}
