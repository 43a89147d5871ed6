// SPDX-License-Identifier: MIT

import NIOCore
import NIOHTTP1
import Text

/// An answer as its parts come, within ``HTTPLimits``.
struct IncomingResponse {
    private(set) var reply: ServerResponse

    /// Begins with the head of an answer, whose body is read if it is wanted.
    ///
    /// - Throws: `oversized`, also for what the head only announces.
    init(_ status: HTTPResponseStatus, _ headers: HTTPHeaders, readsBody: Bool) throws(TransportFailure) {
        let headerBytes = headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard headerBytes <= HTTPLimits.headers, headers.count <= HTTPLimits.headerCount else {
            throw .largeHead
        }
        reply = ServerResponse(status: Int(status.code))
        reply.headers = headers.map {
            ServerResponse.Header(name: $0.name.bytewise.lowercased.text, value: $0.value)
        }
        guard readsBody else { return }
        let announced = headers.first(name: "content-length").flatMap { Int($0) } ?? 0
        guard announced <= HTTPLimits.body else { throw .tooLarge }
        reply.body.reserveCapacity(max(announced, 0))
    }

    /// Takes the next part of the body.
    ///
    /// - Throws: `oversized`.
    mutating func take(_ part: ByteBuffer) throws(TransportFailure) {
        guard reply.body.count + part.readableBytes <= HTTPLimits.body else { throw .tooLarge }
        reply.body.append(contentsOf: part.readableBytesView)
    }
}

extension HTTPHeaders {
    /// What every request says beside what its own library or protocol adds.
    init(of request: OutgoingRequest, _ body: OutgoingBody?) {
        self.init(request.headers.map { ($0.name, $0.value) })
        add(name: "accept-encoding", value: "identity")
        add(name: "connection", value: "close")
        if let body { add(name: "content-type", value: body.contentType) }
    }
}

extension TransportFailure {
    static let tooLarge = TransportFailure.oversized("the answer is larger than 1 MiB")
    static let largeHead = TransportFailure.oversized("the answer's header is too large")
}
