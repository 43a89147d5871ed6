// SPDX-License-Identifier: MIT

import NIOCore
import SealedStore
import Text
import TokenCore

/// The answer that carries a token, but for the token itself and what depends on the time.
final class TokenLayout: Sendable {
    private let contentType: StaticString
    /// Head of the answer on a connection that stays open, up to the value of `Content-Length`.
    private let usualHead: [UInt8]
    private let beforeToken: [UInt8]
    /// Up to the times, if there are any.
    private let afterToken: [UInt8]
    private let end: [UInt8]
    private let expiresAt: Instant?

    /// The bare token and a line feed.
    static let text = TokenLayout("text/plain; charset=utf-8", before: "", after: "\n", end: "", nil)

    /// The answer as JSON; `proof` shows that the sender of the token holds its key (RFC 9449).
    convenience init(
        _ token: AccessToken,
        of session: SessionName,
        isID: Bool = false,
        isRetry: Bool = false,
        proof: String? = nil
    ) {
        let action = isRetry ? "\"action\":\"retry\"," : ""
        let member = isID ? "id_token" : "access_token"
        let scope = token.scope.map(\.insideJSON).joined(separator: " ")
        let proof = proof.map { "\",\"dpop_proof\":\"\($0.insideJSON)" } ?? ""
        self.init(
            "application/json",
            before: "{\(action)\"session\":\"\(session)\",\"\(member)\":\"",
            after: "\",\"token_type\":\"\(token.tokenType.insideJSON)\"",
            end: ",\"scope\":\"\(scope)\(proof)\"}\n",
            token.expiresAt
        )
    }

    private init(
        _ contentType: StaticString,
        before: String,
        after: String,
        end: String,
        _ expiresAt: Instant?
    ) {
        self.contentType = contentType
        usualHead = AnswerWriter.usual.headUpToLength(.ok, contentType)
        beforeToken = Array(before.utf8)
        afterToken = Array(after.utf8)
        self.end = Array(end.utf8)
        self.expiresAt = expiresAt
    }

    /// Writes head and body to `output`; for `HEAD` the head alone.
    ///
    /// The token is opened in its place in the answer, so that no other copy has to be wiped.
    /// - Throws: ``SealedMemoryError``; nothing is written then.
    func write(
        _ secret: SealedMemory.Sealed,
        as writer: AnswerWriter,
        at moment: Moment,
        to output: inout ByteBuffer
    ) throws {
        let isWritten = try unsafe write(
            secret.count,
            as: writer,
            at: moment,
            spare: secret.spare,
            to: &output
        ) { place in
            unsafe try secret.open(into: place)
            return unsafe isText || !UnsafeRawBufferPointer(rebasing: place[..<secret.count]).needsEscapes
        }
        guard !isWritten else { return }
        // No token should hold such bytes (RFC 6750 §2.1), so this one may take its time.
        var escaped: [UInt8] = []
        defer { escaped.wipe() }
        unsafe try secret.open { unsafe escaped.addEscaped($0) }
        _ = unsafe write(escaped.count, as: writer, at: moment, to: &output) { place in
            unsafe place.copyBytes(from: escaped)
            return true
        }
    }

    /// Writes an answer with room for a token of `count` bytes, which `fill` puts into its place.
    ///
    /// `fill` may write `spare` bytes after the token, and says whether the token is good as it is there.
    /// - Returns: what `fill` said; if that is `false`, nothing is written.
    private func write(
        _ count: Int,
        as writer: AnswerWriter,
        at moment: Moment,
        spare: Int = 0,
        to output: inout ByteBuffer,
        fill: (UnsafeMutableRawBufferPointer) throws -> Bool
    ) rethrows -> Bool {
        let head = writer.isUsual ? usualHead : writer.headUpToLength(.ok, contentType)
        let times = expiresAt.map { Times(of: $0, at: moment) }
        let bodyCount = beforeToken.count + count + afterToken.count + (times?.count ?? 0) + end.count
        var isFilled = false
        let most = head.count + Int64.mostDigits + Self.endOfHead.count + bodyCount + spare
        try unsafe output.writeWithUnsafeMutableBytes(minimumWritableBytes: most) { room in
            var text = unsafe TextFiller(room)
            unsafe text.add(head)
            unsafe text.add(Int64(bodyCount))
            unsafe text.add(Self.endOfHead)
            let headCount = unsafe text.count
            unsafe text.add(beforeToken)
            let place = unsafe text.rest
            isFilled = unsafe try fill(place)
            guard isFilled, !writer.isHead else {
                unsafe UnsafeMutableRawBufferPointer(rebasing: place[..<(count + spare)]).wipe()
                return isFilled ? headCount : 0
            }
            unsafe text.count += count
            unsafe text.add(afterToken)
            if let times { unsafe times.write(to: &text) }
            unsafe text.add(end)
            return unsafe text.count
        }
        return isFilled
    }

    private var isText: Bool { expiresAt == nil && end.isEmpty }
    private static let endOfHead = Array("\r\n\r\n".utf8)
}

/// When a token ends, as it is told to a peer.
private struct Times {
    private let expiresAt: Int64
    /// Whole seconds, never negative.
    private let expiresIn: Int64
    private static let beforeEnd = Array(",\"expires_at\":".utf8)
    private static let beforeLife = Array(",\"expires_in\":".utf8)

    init(of end: Instant, at moment: Moment) {
        expiresAt = moment.wallTime(at: end).secondsSince1970
        expiresIn = max(0, (end - moment.now).wholeSeconds)
    }

    var count: Int {
        Self.beforeEnd.count + expiresAt.digitCount + Self.beforeLife.count + expiresIn.digitCount
    }

    func write(to text: inout TextFiller) {
        unsafe text.add(Self.beforeEnd)
        unsafe text.add(expiresAt)
        unsafe text.add(Self.beforeLife)
        unsafe text.add(expiresIn)
    }
}

extension [UInt8] {
    /// Adds `bytes`, UTF-8, as the inside of a JSON string (RFC 8259 §7).
    fileprivate mutating func addEscaped(_ bytes: UnsafeRawBufferPointer) {
        // So that no smaller copy of a secret is left behind by growing.
        reserveCapacity(count + 6 * bytes.count)
        for index in bytes.indices {
            let byte = unsafe bytes[index]
            guard byte.needsEscape else {
                append(byte)
                continue
            }
            let (high, low) = Hex.digits(of: byte)
            self += [UInt8(ascii: "\\"), UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0"), high, low]
        }
    }
}

extension String {
    /// The text as the inside of a JSON string.
    fileprivate var insideJSON: String {
        var (text, escaped) = (self, [UInt8]())
        text.withUTF8 { unsafe escaped.addEscaped(UnsafeRawBufferPointer($0)) }
        return String(decoding: escaped, as: UTF8.self)
    }
}

extension UnsafeRawBufferPointer {
    /// Whether some byte cannot stand in a JSON string as it is.
    fileprivate var needsEscapes: Bool {
        var index = 0
        while index + 8 <= count {
            if unsafe loadUnaligned(fromByteOffset: index, as: UInt64.self).needsEscapes { return true }
            index += 8
        }
        return unsafe self[index...].contains(where: \.needsEscape)
    }
}

extension UInt64 {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Whether one of its eight bytes cannot stand in a JSON string as it is.
    fileprivate var needsEscapes: Bool {
        let isControl = (self &- 0x20 &* Self.ones) & ~self
        let found = isControl | zeros(besides: 0x7F) | zeros(besides: 0x22) | zeros(besides: 0x5C)
        return found & Self.highBits != 0
    }

    /// Has the highest bit of a byte set if the byte is `byte`; the bits of bytes above it mean nothing then.
    private func zeros(besides byte: UInt64) -> UInt64 {
        let difference = self ^ byte &* Self.ones
        return (difference &- Self.ones) & ~difference
    }
}

extension UInt8 {
    fileprivate var needsEscape: Bool {
        self < 0x20 || self == 0x7F || self == UInt8(ascii: "\"") || self == UInt8(ascii: "\\")
    }
}
