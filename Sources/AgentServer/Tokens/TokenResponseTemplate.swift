// SPDX-License-Identifier: MIT

import NIOCore
import SealedStore
import Text
import TokenCore

/// The answer that carries a token, but for the token itself and what depends on the time.
final class TokenResponseTemplate: Sendable {
    private let contentType: StaticString
    /// Head of the answer on a connection that stays open, up to the value of `Content-Length`.
    private let usualHead: [UInt8]
    private let beforeToken: [UInt8]
    /// Up to the times, if there are any.
    private let afterToken: [UInt8]
    private let end: [UInt8]
    private let expiresAt: Instant?
    /// Whether the token stands in a JSON string.
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

    /// The credentials of a role, which are kept as the members of this object.
    static let role = TokenResponseTemplate(
        "application/json",
        before: "{\"Version\":1,",
        after: "}\n",
        end: "",
        nil,
        isJSON: false
    )

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

    /// Writes head and body to `output`; for `HEAD` the head alone.
    ///
    /// The token is opened in its place in the answer, so that no other copy has to be wiped.
    /// - Throws: ``SealedMemoryError``; nothing is written then.
    func write(
        _ secret: SealedMemory.Sealed,
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
                || JSONString.isPlain(UnsafeRawBufferPointer(rebasing: place[..<secret.count]))
        }
        guard !isWritten else { return }
        // No token should hold such bytes (RFC 6750 §2.1), so this one may take its time.
        var quoted: [UInt8] = []
        // So that no smaller copy is left behind by growing.
        quoted.reserveCapacity(6 * secret.count + 2)
        defer { quoted.wipe() }
        unsafe try secret.open { unsafe JSONString.write($0, to: &quoted) }
        _ = unsafe write(quoted.count - 2, as: writer, at: moment, to: &output) { place in
            unsafe place.copyBytes(from: quoted.dropFirst().dropLast())
            return true
        }
    }

    /// Writes an answer with room for a token of `count` bytes, which `fill` puts into its place.
    ///
    /// `fill` may write `spare` bytes after the token, and says whether the token is good as it is there.
    /// - Returns: what `fill` said; if that is `false`, nothing is written.
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
        let times = expiresAt.map { Times(of: $0, at: moment) }
        let bodyCount = beforeToken.count + count + afterToken.count + (times?.count ?? 0) + end.count
        var isFilled = false
        let most = head.count + Int64.mostDigits + Self.endOfHead.count + bodyCount + spare
        try unsafe output.writeWithUnsafeMutableBytes(minimumWritableBytes: most) { room in
            var text = unsafe TextFiller(room)
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
