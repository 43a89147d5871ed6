// SPDX-License-Identifier: MIT

/// The reason a message is not forwarded.
struct ForwardingError: Error, Equatable {
    /// The status of the response to the client.
    var status: Int
    /// One sentence without a full stop.
    var message: String

    init(_ status: Int, _ message: String) {
        self.status = status
        self.message = message
    }

    /// Creates the error for an unreadable head of a client.
    init(_ problem: HTTPHeadError) {
        self =
            switch problem {
            case .noField: .malformed("a line of the head is not a field")
            case .tooManyFields:
                ForwardingError(431, "the head has more than \(MessageHead.maximumFields) fields")
            }
    }

    /// Returns the error for a message that two readers might interpret differently (RFC 9112 §11.2).
    static func malformed(_ message: String) -> ForwardingError { ForwardingError(400, message) }

    /// Returns the error for a response of the upstream that cannot be forwarded.
    static func badAnswer(_ message: String) -> ForwardingError {
        ForwardingError(502, "the upstream's response \(message)")
    }
}
