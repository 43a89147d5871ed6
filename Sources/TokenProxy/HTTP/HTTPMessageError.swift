// SPDX-License-Identifier: MIT

/// Why a message goes no further.
struct HTTPMessageError: Error, Equatable {
    /// What a client is answered.
    var status: Int
    /// One sentence without a full stop.
    var message: String

    init(_ status: Int, _ message: String) {
        self.status = status
        self.message = message
    }

    /// A client's head that cannot be read.
    init(_ problem: HTTPHeadError) {
        self =
            switch problem {
            case .noField: .malformed("a line of the head is no field")
            case .tooManyFields:
                HTTPMessageError(431, "the head has more than \(MessageHead.mostFields) fields")
            }
    }

    /// A message that two readers might take for two different ones (RFC 9112 §11.2).
    static func malformed(_ message: String) -> HTTPMessageError { HTTPMessageError(400, message) }

    /// What the upstream sent is no answer that may be passed on.
    static func badAnswer(_ message: String) -> HTTPMessageError {
        HTTPMessageError(502, "the upstream's answer \(message)")
    }
}
