// SPDX-License-Identifier: MIT

import NIOCore
import TestSupport
import Testing

@testable import TokenProxy

/// Bytes for the readers under test.
struct ByteBufferText {
    var buffer: ByteBuffer

    init(_ text: some Sequence<UInt8>) {
        buffer = ByteBuffer(bytes: text)
    }

    mutating func append(_ text: some Sequence<UInt8>) { buffer.writeBytes(text) }
}

/// Bodies, their frames and what breaks them.
@Suite struct BodyTests {
    /// Reads all of `text`, in pieces of `step` bytes.
    private func body(
        _ framing: BodyFraming,
        _ text: String,
        step: Int = .max
    ) throws -> (String, [MessageField], String)? {
        var reader = BodyReader(framing)
        var input = ByteBufferText([])
        var data: [UInt8] = []
        var rest = Array(text.utf8)[...]
        repeat {
            input.append(rest.prefix(step))
            rest = rest.dropFirst(step)
            while let piece = try reader.next(&input.buffer) {
                switch piece {
                case .data(let buffer): data += buffer.readableBytesView
                case .end(let trailers):
                    let left = String(buffer: input.buffer) + String(decoding: rest, as: UTF8.self)
                    return (String(decoding: data, as: UTF8.self), trailers, left)
                }
            }
        } while !rest.isEmpty
        return nil
    }

    @Test(arguments: [1, 2, 3, 7, 1000])
    func `a chunked body is read however it was cut`(step: Int) throws {
        let text = "5\r\nhello\r\n1;ext=\"a\"\r\n!\r\n000\r\nX-Sum: 1\r\nETag: \"x\"\r\n\r\nGET"
        let (data, trailers, rest) = try #require(try body(.chunked, text, step: step))
        #expect(data == "hello!" && rest == "GET")
        #expect(trailers.map { "\($0.name.text)=\($0.value.text)" } == ["X-Sum=1", "ETag=\"x\""])
    }

    @Test func `a body of known length ends there`() throws {
        let (data, _, rest) = try #require(try body(.length(3), "abcdef"))
        #expect(data == "abc" && rest == "def")
        #expect(try body(.length(0), "x")?.2 == "x")
        #expect(try body(.none, "x")?.2 == "x")
        #expect(try body(.length(5), "abc") == nil)
    }

    @Test(
        .holds("231"),
        arguments: [
            "5\nhello\r\n", "5 \r\nhello", "g\r\n", "\r\n", "-1\r\n", "+5\r\nhello\r\n", "0x5\r\nhello\r\n",
            "5\r\nhellox\r\n0\r\n\r\n",
            "5\r\nhello0\r\n\r\n", "10000000000000000\r\n", "5;\u{1}\r\nhello\r\n", "5\r\r\nhello",
            "0\r\nbad trailer\r\n\r\n",
            "0\r\n folded: x\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "0\r\nX: a\nY: b\r\n\r\n",
            "\u{FEFF}5\r\nhello\r\n", "5,5\r\n",
        ]
    )
    func `a broken frame is refused`(text: String) {
        #expect(throws: ForwardingError.self) { try body(.chunked, text) }
    }

    @Test(arguments: [1, 14, 15, 16, 63])
    func `zeros before the size of a chunk say nothing`(count: Int) throws {
        let zeros = String(repeating: "0", count: count)
        let text = "\(zeros)5\r\nhello\r\n\(zeros)0\r\n\r\n"
        #expect(try body(.chunked, text)?.0 == "hello")
    }

    @Test func `a size that is too large, or too long for what it says, is refused`() {
        let zeros = String(repeating: "0", count: 64)
        for size in ["\(zeros)5", "\(zeros)0", "00FFFFFFFFFFFFFFFF"] {
            #expect(throws: ForwardingError.self) { try body(.chunked, "\(size)\r\nhello\r\n") }
        }
    }

    @Test func `an endless line of a frame is refused`() {
        #expect(throws: ForwardingError.self) {
            try body(.chunked, "5;" + String(repeating: "a", count: 5000))
        }
        #expect(throws: ForwardingError.self) {
            try body(.chunked, "0\r\n" + String(repeating: "X: y\r\n", count: 100))
        }
    }

    @Test func `the end of the connection ends only an answer without a length`() {
        var open = BodyReader(.untilClose)
        var chunked = BodyReader(.chunked)
        var counted = BodyReader(.length(1))
        #expect(open.finish() && !chunked.finish() && !counted.finish())
    }

    @Test func `pieces are framed anew, without fields that say how to read the message`() throws {
        var written = ByteBuffer()
        let writer = BodyWriter(framing: .chunked)
        writer.write(ByteBuffer(string: "hello world")) { part in
            var part = part
            written.writeBuffer(&part)
        }
        let names = [
            "X-Sum", "Transfer-Encoding", "Content-Length", "Authorization", "Host", "Set-Cookie", "Trailer",
        ]
        var end = try #require(
            writer.end(names.map { MessageField(name: Array($0.utf8)[...], value: Array("1".utf8)[...]) })
        )
        written.writeBuffer(&end)
        #expect(String(buffer: written) == "b\r\nhello world\r\n0\r\nX-Sum: 1\r\n\r\n")
        #expect(BodyWriter(framing: .length(1)).end([]) == nil)
    }
}
