// SPDX-License-Identifier: MIT

import NIOCore
import SecretMemory
import Text
import TokenCore

/// A response with a token, except for the token itself and what depends on the time.
final class TokenResponseTemplate: Sendable {
    private let contentType: StaticString
    /// The head of the response on a persistent connection, up to the value of `Content-Length`.
    private let usualHead: [UInt8]
    private let beforeToken: [UInt8]
    /// The part of the body after the token, up to the times, if there are any.
    private let afterToken: [UInt8]
    private let end: [UInt8]
    private let expiresAt: Instant?
    /// Whether the token is in a JSON string.
    private let isJSON: Bool

    /// The bare token and a line feed.
    static let text = TokenResponseTemplate(
        "text/plain; charset=utf-8",
        before: "",
        after: "\n",
        end: "",
        nil,
        isJSON: false
    )

    /// The token and nothing else, for a peer that sends no request.
    static let bare = TokenResponseTemplate("text/plain", before: "", after: "", end: "", nil, isJSON: false)

    /// The credentials of a role, which are stored as the members of this object.
    static let role = TokenResponseTemplate(
        "application/json",
        before: "{\"Version\":1,",
        after: "}\n",
        end: "",
        nil,
        isJSON: false
    )

    /// Creates a JSON response.
    ///
    /// `proof` shows that the sender of the token has its key (RFC 9449).
    convenience init(
        _ token: AccessToken,
        of session: SessionName,
        isID: Bool = false,
        isRetry: Bool = false,
        proof: String? = nil
    ) {
        let action = isRetry ? "\"action\":\"retry\"," : ""
        let member = isID ? "id_token" : "access_token"
        let type = JSONValue.string(token.tokenType).text
        let word = token.serverTokenType.map { ",\"server_token_type\":\(JSONValue.string($0).text)" } ?? ""
        let scope = JSONValue.string(token.scope.joined(separator: " ")).text
        let proof = proof.map { ",\"dpop_proof\":\(JSONValue.string($0).text)" } ?? ""
        self.init(
            "application/json",
            before: "{\(action)\"session\":\"\(session)\",\"\(member)\":\"",
            after: "\",\"token_type\":\(type)\(word)",
            end: ",\"scope\":\(scope)\(proof)}\n",
            token.life(isID: isID).expiresAt,
            isJSON: true
        )
    }

    private init(
        _ contentType: StaticString,
        before: String,
        after: String,
        end: String,
        _ expiresAt: Instant?,
        isJSON: Bool
    ) {
        self.contentType = contentType
        usualHead = HTTPResponseWriter.usual.headUpToLength(.ok, contentType)
        beforeToken = Array(before.utf8)
        afterToken = Array(after.utf8)
        self.end = Array(end.utf8)
        self.expiresAt = expiresAt
        self.isJSON = isJSON
    }

    /// Writes head and body to `output`.
    ///
    /// For `HEAD` it writes the head only.
    ///
    /// The token is decrypted in its place in the response, so that no other copy must be erased.
    ///
    /// - Throws: ``SealedMemoryError``. Nothing is written then.
    func write(
        _ secret: SealedMemory.OpenableSecret,
        as writer: HTTPResponseWriter,
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
            return unsafe !isJSON
                || JSONStringWriter.isPlain(UnsafeRawBufferPointer(rebasing: place[..<secret.count]))
        }
        guard !isWritten else { return }
        // No token should contain such bytes (RFC 6750 §2.1), so this path may be slow.
        var quoted: [UInt8] = []
        // Reserved so that growing leaves no smaller copy in memory.
        quoted.reserveCapacity(6 * secret.count + 2)
        defer { quoted.wipe() }
        unsafe try secret.open { unsafe JSONStringWriter.write($0, to: &quoted) }
        _ = unsafe write(quoted.count - 2, as: writer, at: moment, to: &output) { place in
            unsafe place.copyBytes(from: quoted.dropFirst().dropLast())
            return true
        }
    }

    /// Writes a response with space for a token of `count` bytes, which `fill` writes.
    ///
    /// `fill` may write `spare` bytes after the token, and returns whether the token is valid as it is there.
    ///
    /// - Returns: The result of `fill`. If that is `false`, nothing is written.
    private func write(
        _ count: Int,
        as writer: HTTPResponseWriter,
        at moment: Moment,
        spare: Int = 0,
        to output: inout ByteBuffer,
        fill: (UnsafeMutableRawBufferPointer) throws -> Bool
    ) rethrows -> Bool {
        let head =
            writer.isBare
            ? [] : writer.isUsual ? usualHead : writer.headUpToLength(.ok, contentType)
        let times = expiresAt.map { TokenTimes(of: $0, at: moment) }
        let bodyCount = beforeToken.count + count + afterToken.count + (times?.count ?? 0) + end.count
        var isFilled = false
        let most = head.count + Int64.maximumDigits + Self.endOfHead.count + bodyCount + spare
        try unsafe output.writeWithUnsafeMutableBytes(minimumWritableBytes: most) { room in
            var text = unsafe RawBufferWriter(room)
            unsafe text.add(head)
            if !writer.isBare {
                unsafe text.add(Int64(bodyCount))
                unsafe text.add(Self.endOfHead)
            }
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

    private static let endOfHead = Array("\r\n\r\n".utf8)
}

/// The expiry of a token, as a peer receives it.
private struct TokenTimes {
    private let expiresAt: Int64
    /// The remaining validity in whole seconds, never negative.
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

    func write(to text: inout RawBufferWriter) {
        unsafe text.add(Self.beforeEnd)
        unsafe text.add(expiresAt)
        unsafe text.add(Self.beforeLife)
        unsafe text.add(expiresIn)
    }
}
