// SPDX-License-Identifier: MIT

import NIOCore

/// A writer of HTTP/1.1 responses to a buffer.
struct HTTPResponseWriter {
    /// Whether the connection stays open after this response.
    var keepsAlive: Bool
    /// Whether the peer uses HTTP/1.1; an HTTP/1.0 peer must be told that the connection stays open.
    var isHTTP11: Bool
    /// Whether the body is omitted, for a `HEAD` request (RFC 9110 §9.3.2).
    var isHead: Bool
    /// Whether only a token is written, without a head; any other response is not written.
    var isBare = false

    /// The writer for a peer that sends no request.
    static let bare = HTTPResponseWriter(keepsAlive: false, isHTTP11: true, isHead: false, isBare: true)

    /// The writer for nearly all requests.
    static let usual = HTTPResponseWriter(keepsAlive: true, isHTTP11: true, isHead: false)

    /// Whether the head is the same as that of ``usual``.
    var isUsual: Bool { keepsAlive && isHTTP11 }

    func write(_ answer: HTTPResponse, to output: inout ByteBuffer) {
        output.writeBytes(headUpToLength(answer.status, answer.contentType))
        output.writeString(String(answer.body.count))
        for field in answer.fields {
            output.writeString("\r\n\(field.name): \(field.value)")
        }
        output.writeStaticString("\r\n\r\n")
        if !isHead { output.writeBytes(answer.body) }
    }

    /// Returns the status line and fields, up to the value of `Content-Length`; responses must not be cached.
    func headUpToLength(_ status: HTTPStatus, _ contentType: StaticString) -> [UInt8] {
        var head = ByteBuffer()
        writeStart(status, contentType, to: &head)
        head.writeStaticString("\r\nContent-Length: ")
        return Array(head.readableBytesView)
    }

    /// Writes the head of a response of unknown length; calls of ``writeChunk(_:to:)`` write its body.
    func writeStreamHead(_ contentType: StaticString, to output: inout ByteBuffer) {
        writeStart(.ok, contentType, to: &output)
        if isHTTP11 { output.writeStaticString("\r\nTransfer-Encoding: chunked") }
        output.writeStaticString("\r\n\r\n")
    }

    /// Writes one chunk of a stream (RFC 9112 §7.1); an HTTP/1.0 peer reads until the connection closes.
    func writeChunk(_ bytes: [UInt8], to output: inout ByteBuffer) {
        guard isHTTP11 else {
            output.writeBytes(bytes)
            return
        }
        output.writeString(String(bytes.count, radix: 16))
        output.writeStaticString("\r\n")
        output.writeBytes(bytes)
        output.writeStaticString("\r\n")
    }

    func writeStreamEnd(to output: inout ByteBuffer) {
        if isHTTP11 { output.writeStaticString("0\r\n\r\n") }
    }

    private func writeStart(_ status: HTTPStatus, _ contentType: StaticString, to output: inout ByteBuffer) {
        if status == .ok {
            output.writeStaticString("HTTP/1.1 200 OK\r\nContent-Type: ")
        } else {
            output.writeString("HTTP/1.1 \(status.rawValue) \(status.reason)\r\nContent-Type: ")
        }
        output.writeStaticString(contentType)
        output.writeStaticString("\r\nCache-Control: no-store")
        if !keepsAlive {
            output.writeStaticString("\r\nConnection: close")
        } else if !isHTTP11 {
            output.writeStaticString("\r\nConnection: keep-alive")
        }
    }
}
