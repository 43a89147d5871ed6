// SPDX-License-Identifier: MIT

import NIOCore
import Text

/// The way a message body is delimited.
enum BodyFraming: Equatable, Sendable {
    /// The message has no body.
    case none
    case length(Int64)
    case chunked
    /// The body ends with the connection.
    ///
    /// Only responses can end so (RFC 9112 §6.3).
    case untilClose
}

/// An incremental parser of message bodies, which checks the framing and stores no data.
struct BodyReader {
    enum Piece {
        case data(ByteBuffer)
        /// The body is complete.
        ///
        /// The next byte belongs to the next message.
        case end(trailers: [MessageField])
    }

    private enum State: Equatable {
        case length(Int64)
        case chunkSize
        case chunk(Int64)
        case chunkEnd
        case trailers
        case untilClose
        case ended
    }

    private static let maximumChunkLineLength = 1024
    /// The maximum number of digits in a chunk size.
    ///
    /// Leading zeros are allowed (RFC 9112 §7.1), but nobody needs many.
    private static let maximumDigits = 64
    /// The maximum number of significant digits, which certainly fit into an `Int64`.
    private static let maximumSignificantDigits = 15
    private static let maximumTrailerLength = 8192
    private static let maximumTrailers = 64

    private var state: State
    private var trailers: [MessageField] = []
    private var hasToldEnd = false

    init(_ framing: BodyFraming) {
        state =
            switch framing {
            case .none: .ended
            case .length(let count): .length(count)
            case .chunked: .chunkSize
            case .untilClose: .untilClose
            }
    }

    /// Whether the end of the body has been returned.
    var isAtEnd: Bool { hasToldEnd }

    /// Returns the next piece of the body.
    ///
    /// - Returns: the piece, or `nil` if more input is needed or the end has been returned.
    /// - Throws: ``ForwardingError`` if the framing is invalid.
    mutating func next(_ input: inout ByteBuffer) throws(ForwardingError) -> Piece? {
        guard !hasToldEnd else { return nil }
        while true {
            switch state {
            case .length(0), .ended:
                state = .ended
                hasToldEnd = true
                return .end(trailers: trailers)
            case .length(let left):
                return take(upTo: left, &input) { .length(left - $0) }
            case .chunkSize:
                guard let line = try input.takeLine(longest: BodyReader.maximumChunkLineLength) else {
                    return nil
                }
                let size = try BodyReader.chunkSize(line)
                state = size == 0 ? .trailers : .chunk(size)
            case .chunk(0):
                state = .chunkEnd
            case .chunk(let left):
                return take(upTo: left, &input) { .chunk(left - $0) }
            case .chunkEnd:
                guard let line = try input.takeLine(longest: 0) else { return nil }
                guard line.isEmpty else { throw .malformed("a chunk is longer than its size") }
                state = .chunkSize
            case .trailers:
                guard let line = try input.takeLine(longest: BodyReader.maximumTrailerLength) else {
                    return nil
                }
                try addTrailer(line)
            case .untilClose:
                return take(upTo: .max, &input) { _ in .untilClose }
            }
        }
    }

    /// Treats the end of the connection as the end of the body.
    ///
    /// - Returns: `false` if the body is not delimited by the end of the connection.
    mutating func finish() -> Bool {
        guard state == .untilClose else { return false }
        state = .ended
        return true
    }

    private mutating func take(
        upTo limit: Int64,
        _ input: inout ByteBuffer,
        then next: (Int64) -> State
    ) -> Piece? {
        let count = Int(min(limit, Int64(input.readableBytes)))
        guard count > 0, let slice = input.readSlice(length: count) else { return nil }
        state = next(Int64(count))
        return .data(slice)
    }

    private mutating func addTrailer(_ line: ArraySlice<UInt8>) throws(ForwardingError) {
        guard !line.isEmpty else {
            state = .ended
            return
        }
        guard trailers.count < BodyReader.maximumTrailers, let (name, value) = HTTPSyntax.field(line) else {
            throw .malformed("a line after the last chunk is not a field")
        }
        trailers.append(MessageField(name: name, value: value))
    }

    /// Parses the hexadecimal digits of a chunk size.
    ///
    /// Extensions are dropped (RFC 9112 §7.1.1).
    private static func chunkSize(_ line: ArraySlice<UInt8>) throws(ForwardingError) -> Int64 {
        let digits = line.prefix { $0.hexDigitValue != nil }
        let significant = digits.drop { $0 == UInt8(ascii: "0") }
        let rest = line[digits.endIndex...]
        guard (1...maximumDigits).contains(digits.count), significant.count <= maximumSignificantDigits,
            rest.isEmpty || rest.trimmedOfBlanks.first == UInt8(ascii: ";"), rest.allSatisfy(\.isFieldByte)
        else { throw .malformed("the size of a chunk is not a number") }
        return significant.reduce(0) { $0 << 4 | Int64($1.hexDigitValue ?? 0) }
    }
}

/// A serializer of body pieces in the framing of the outgoing message.
struct BodyWriter {
    let framing: BodyFraming

    /// Passes `data` to `output`, framed as a chunk if necessary.
    func write(_ data: ByteBuffer, _ output: (ByteBuffer) -> Void) {
        guard framing == .chunked else { return output(data) }
        output(ByteBuffer(string: String(data.readableBytes, radix: 16) + "\r\n"))
        output(data)
        output(ByteBuffer(string: "\r\n"))
    }

    /// Returns the bytes that end the body, or `nil` if there are none.
    func end(_ trailers: [MessageField]) -> ByteBuffer? {
        guard framing == .chunked else { return nil }
        var bytes = ByteBuffer(string: "0\r\n")
        for field in trailers where BodyWriter.isTrailer(field) { bytes.write(field) }
        bytes.writeStaticString("\r\n")
        return bytes
    }

    /// Returns whether a field may follow the body.
    ///
    /// Fields about the framing, the routing or the sender of a message may not (RFC 9110 §6.5.1).
    private static func isTrailer(_ field: MessageField) -> Bool {
        let name = field.name
        return field.meaning == .unimportant && !name.says("set-cookie") && !name.says("cookie")
            && !name.says("trailer")
            && !name.says("content-type") && !name.says("content-encoding") && !name.says("content-range")
    }
}

extension ByteBuffer {
    /// Appends a field with its line end.
    mutating func write(_ field: MessageField) {
        writeBytes(field.name)
        writeStaticString(": ")
        writeBytes(field.value)
        writeStaticString("\r\n")
    }

    /// Appends the field that delimits the body, if there is one.
    mutating func write(_ framing: BodyFraming) {
        switch framing {
        case .none, .untilClose: break
        case .length(let count): write("Content-Length", String(count))
        case .chunked: writeStaticString("Transfer-Encoding: chunked\r\n")
        }
    }

    /// Appends a field with a fixed name.
    mutating func write(_ name: StaticString, _ value: some StringProtocol) {
        writeStaticString(name)
        writeStaticString(": ")
        writeBytes(value.utf8)
        writeStaticString("\r\n")
    }
}
