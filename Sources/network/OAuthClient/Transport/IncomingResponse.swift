// SPDX-License-Identifier: MIT

import NIOCore
import NIOHTTP1
import Text

/// A response received in parts, within ``HTTPLimits``.
struct IncomingResponse {
    private(set) var reply: ServerResponse

    /// Begins with the head of a response.
    ///
    /// - Throws: `oversized`, also if only the head announces too much.
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

    /// Appends the next part of the body.
    mutating func take(_ part: ByteBuffer) throws(TransportFailure) {
        guard reply.body.count + part.readableBytes <= HTTPLimits.body else { throw .tooLarge }
        reply.body.append(contentsOf: part.readableBytesView)
    }
}

extension HTTPHeaders {
    /// Creates the headers common to all requests.
    ///
    /// The HTTP library or the protocol adds others.
    init(of request: OutgoingRequest, _ body: OutgoingBody?) {
        self.init(request.headers.map { ($0.name, $0.value) })
        for (name, value) in request.format.headers.sorted(by: { $0.key < $1.key }) {
            add(name: name, value: value)
        }
        add(name: "accept-encoding", value: "identity")
        add(name: "connection", value: "close")
        if let type = body?.contentType { add(name: "content-type", value: type) }
    }
}

extension TransportFailure {
    static let tooLarge = TransportFailure.oversized("the response is larger than 1 MiB")
    static let largeHead = TransportFailure.oversized("the response's header is too large")
}
