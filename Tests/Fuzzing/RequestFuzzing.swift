// SPDX-License-Identifier: MIT

import NIOCore

@testable import AgentServer

/// The result of reading a stream: the complete requests, and the error that ended it.
private struct Reading: Equatable {
    var requests: [HTTPRequest] = []
    var refusal: RequestError?
}

/// Feeds the stream in pieces, whose size is the first byte.
///
/// The result must be the same as in one piece.
func fuzzRequest(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let stream = bytes.dropFirst()
    let whole = ProcessorTime.limited("a request") { read(stream, inPiecesOf: max(stream.count, 1)) }
    let split = read(stream, inPiecesOf: Int(first) + 1)
    precondition(whole.requests == split.requests, "the same bytes are other requests in pieces")
    precondition((whole.refusal == nil) == (split.refusal == nil), "pieces decide about a refusal")
    let limits = RequestLimits()
    for request in whole.requests {
        precondition(request.body.count == request.head.contentLength)
        precondition(request.body.count <= limits.body)
        precondition(request.head.address.target.utf8.count <= limits.requestLine)
        precondition(request.head.address.target.utf8.allSatisfy { (0x21...0x7E).contains($0) })
        let path = request.head.address.target.prefix { $0 != "?" }
        ProcessorTime.limited("a path") { _ = Route(path: path) }
    }
}

private func read(_ stream: ArraySlice<UInt8>, inPiecesOf size: Int) -> Reading {
    var parser = RequestParser(limits: RequestLimits())
    var reading = Reading()
    var input = ByteBuffer()
    var rest = stream
    do throws(RequestError) {
        while !rest.isEmpty {
            input.writeBytes(rest.prefix(size))
            rest = rest.dropFirst(size)
            while case .request(let request) = try parser.next(from: &input) {
                reading.requests.append(request)
            }
        }
    } catch {
        reading.refusal = error
    }
    return reading
}
