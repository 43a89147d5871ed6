// SPDX-License-Identifier: MIT

import NIOCore

/// A search for the end of a head in input that arrives in pieces.
///
/// Each byte is searched once.
struct HeadSearch {
    /// The maximum size of a head, in bytes.
    let longest: Int
    /// The number of readable bytes searched so far.
    private var searched = 0

    init(longest: Int) {
        self.longest = longest
    }

    /// Takes a whole head from `input`, without the empty line at its end.
    ///
    /// Line ends before the head are skipped (RFC 9112 §2.2).
    ///
    /// - Returns: the head, or `nil` if it is incomplete.
    /// - Throws: ``ForwardingError`` if the head is too long, or if a line ends with a bare line feed. The
    ///   sender of such lines would never send the expected end of the head.
    mutating func take(from input: inout ByteBuffer) throws(ForwardingError) -> [UInt8]? {
        // A single byte may be the first half of a line end.
        if searched <= 1 { skipLineEnds(&input) }
        guard let end = try end(in: input) else {
            searched = input.readableBytes
            guard searched <= longest else {
                throw ForwardingError(431, "the head is longer than \(longest) bytes")
            }
            return nil
        }
        searched = 0
        guard end <= longest else { throw ForwardingError(431, "the head is longer than \(longest) bytes") }
        let head = input.readBytes(length: end - 4)
        input.moveReaderIndex(forwardBy: 4)
        return head
    }

    private func skipLineEnds(_ input: inout ByteBuffer) {
        while let pair = input.getInteger(at: input.readerIndex, as: UInt16.self), pair == 0x0D0A {
            input.moveReaderIndex(forwardBy: 2)
        }
    }

    /// Returns the size of the head with its empty line, or `nil` if the head is incomplete.
    private func end(in input: ByteBuffer) throws(ForwardingError) -> Int? {
        let bytes = input.readableBytesView
        var rest = bytes.dropFirst(searched)
        while let feed = rest.firstIndex(of: 0x0A) {
            let before = bytes[..<feed].suffix(3)
            guard before.last == 0x0D else {
                throw .malformed("a line of the head does not end with CR LF")
            }
            if before.elementsEqual([0x0D, 0x0A, 0x0D]) { return feed - bytes.startIndex + 1 }
            rest = bytes[(feed + 1)...]
        }
        return nil
    }
}

extension ByteBuffer {
    /// Takes a line from the readable bytes, without its CR LF.
    ///
    /// - Returns: the line, or `nil` if it is incomplete.
    /// - Throws: ``ForwardingError`` for a bare line feed, or if there is no line end within `longest`
    ///   bytes.
    mutating func takeLine(longest: Int) throws(ForwardingError) -> ArraySlice<UInt8>? {
        let view = readableBytesView
        guard let feed = view.prefix(longest + 2).firstIndex(of: 0x0A) else {
            guard view.count <= longest + 1 else {
                throw .malformed("a line of the body's frame is too long")
            }
            return nil
        }
        guard feed > view.startIndex, view[feed - 1] == 0x0D,
            let line = readBytes(length: feed - view.startIndex + 1)
        else { throw .malformed("a line of the body's frame does not end with CR LF") }
        return line[...].dropLast(2)
    }
}
