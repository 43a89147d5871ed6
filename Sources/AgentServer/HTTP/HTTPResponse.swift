// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// A complete answer that holds no secret; tokens are written by ``TokenResponseTemplate``.
struct HTTPResponse: Equatable, Sendable {
    var status: HTTPStatus
    var contentType: StaticString = "application/json"
    /// Further header fields, each printable and without line ends.
    var fields: [Field] = []
    var body: [UInt8]

    struct Field: Equatable, Sendable {
        var name: String
        var value: String
    }

    /// A JSON text and a line feed, so that a terminal shows it well.
    static func message<Members>(_ message: WireMessage<Members>, status: HTTPStatus = .ok) -> HTTPResponse {
        HTTPResponse(status: status, body: message.json.serialized + [.lineFeed])
    }

    static func text(_ text: String, contentType: StaticString) -> HTTPResponse {
        HTTPResponse(status: .ok, contentType: contentType, body: Array(text.utf8))
    }

    static func == (left: HTTPResponse, right: HTTPResponse) -> Bool {
        left.status == right.status && left.fields == right.fields && left.body == right.body
            && String(describing: left.contentType) == String(describing: right.contentType)
    }
}

extension HTTPResponse {
    /// The answer to a request that breaks the rules of the socket.
    init(_ refusal: RequestError) {
        self = HTTPResponse(RequestFailure(code: refusal.code, message: refusal.message))
        status = refusal.status
    }

    /// The error answer of the contract: `{"error":{…}}`, and `Retry-After` where there is one.
    init(_ failure: RequestFailure) {
        self = .message(RefusalMessage { $0.error = failure.wire }, status: HTTPStatus(failure.code))
        if let seconds = failure.retryAfterSeconds {
            fields.append(Field(name: "Retry-After", value: String(seconds)))
        }
    }
}
