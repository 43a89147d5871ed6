// SPDX-License-Identifier: MIT

import NIOCore
import Text
import TokenCore

/// The answer that carries a token, written straight from the vault's bytes.
struct ServedToken {
    var session: SessionName
    var token: AccessToken
    var wantsIDToken: Bool
    var format: TokenCall.Format
    var moment: Moment
    /// Proof that the sender of the token holds its key (RFC 9449).
    var proof: String?

    /// Writes head and body to `output`, going through `scratch` because the head tells the body's length.
    func write(
        _ secret: UnsafeRawBufferPointer,
        as writer: AnswerWriter,
        scratch: inout ByteBuffer,
        to output: inout ByteBuffer
    ) {
        let contentType: StaticString
        switch format {
        case .text:
            contentType = "text/plain; charset=utf-8"
            unsafe scratch.writeBytes(secret)
            scratch.writeInteger(UInt8.lineFeed)
        case .json, .retry:
            contentType = "application/json"
            unsafe writeJSON(secret, to: &scratch)
        }
        writer.writeHead(.ok, contentType, bodyCount: scratch.readableBytes, to: &output)
        if !writer.isHead { output.writeImmutableBuffer(scratch) }
    }

    private func writeJSON(_ secret: UnsafeRawBufferPointer, to body: inout ByteBuffer) {
        body.writeStaticString(format == .retry ? "{\"action\":\"retry\",\"session\":\"" : "{\"session\":\"")
        body.writeString(session.description)
        body.writeStaticString(wantsIDToken ? "\",\"id_token\":\"" : "\",\"access_token\":\"")
        unsafe body.writeEscaped(secret)
        body.writeStaticString("\",\"token_type\":\"")
        body.writeEscaped(token.tokenType)
        body.writeStaticString("\"")
        if let expiresAt = token.expiresAt {
            body.writeStaticString(",\"expires_at\":")
            body.writeString(String(moment.wallTime(at: expiresAt).secondsSince1970))
            body.writeStaticString(",\"expires_in\":")
            body.writeString(String(max(0, (expiresAt - moment.now).wholeSeconds)))
        }
        body.writeStaticString(",\"scope\":\"")
        for (index, scope) in token.scope.enumerated() {
            if index > 0 { body.writeInteger(UInt8.blank) }
            body.writeEscaped(scope)
        }
        if let proof {
            body.writeStaticString("\",\"dpop_proof\":\"")
            body.writeEscaped(proof)
        }
        body.writeStaticString("\"}\n")
    }
}

extension ByteBuffer {
    /// Writes `text` as the inside of a JSON string.
    fileprivate mutating func writeEscaped(_ text: String) {
        var text = text
        text.withUTF8 { unsafe writeEscaped(UnsafeRawBufferPointer($0)) }
    }

    /// Writes `bytes`, UTF-8, as the inside of a JSON string (RFC 8259 §7).
    fileprivate mutating func writeEscaped(_ bytes: UnsafeRawBufferPointer) {
        guard unsafe bytes.contains(where: \.needsEscape) else {
            unsafe writeBytes(bytes)
            return
        }
        for index in bytes.indices {
            let byte = unsafe bytes[index]
            guard byte.needsEscape else {
                writeInteger(byte)
                continue
            }
            writeStaticString("\\u00")
            let (high, low) = Hex.digits(of: byte)
            writeInteger(high)
            writeInteger(low)
        }
    }
}

extension UInt8 {
    fileprivate var needsEscape: Bool {
        self < 0x20 || self == 0x7F || self == UInt8(ascii: "\"") || self == UInt8(ascii: "\\")
    }
}
