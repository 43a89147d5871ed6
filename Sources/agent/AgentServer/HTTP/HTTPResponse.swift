// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// A complete response without secrets; ``TokenResponseTemplate`` writes those with tokens.
struct HTTPResponse: Equatable, Sendable {
    var status: HTTPStatus
    var contentType: StaticString = "application/json"
    /// Further header fields, with printable names and values.
    var fields: [Field] = []
    var body: [UInt8]

    struct Field: Equatable, Sendable {
        var name: String
        var value: String
    }

    /// Returns a JSON response, with a final line feed for display in a terminal.
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
    /// Creates the response to a malformed or forbidden request.
    init(_ refusal: RequestError) {
        self = HTTPResponse(RequestFailure(code: refusal.code, message: refusal.message))
        status = refusal.status
    }

    /// Creates the response to a failed request: `{"error":{…}}`, with `Retry-After` if the failure has one.
    init(_ failure: RequestFailure) {
        self = .message(ErrorResponseMessage { $0.error = failure.wire }, status: HTTPStatus(failure.code))
        if let seconds = failure.retryAfterSeconds {
            fields.append(Field(name: "Retry-After", value: String(seconds)))
        }
    }
}
