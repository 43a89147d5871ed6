// SPDX-License-Identifier: MIT

/// Why a message goes no further.
struct MessageFault: Error, Equatable {
    /// What a client is answered.
    var status: Int
    /// One sentence without a full stop.
    var message: String

    init(_ status: Int, _ message: String) {
        self.status = status
        self.message = message
    }

    /// A client's head that cannot be read.
    init(_ problem: HeadProblem) {
        self =
            switch problem {
            case .noField: .malformed("a line of the head is no field")
            case .tooManyFields: MessageFault(431, "the head has more than \(MessageHead.mostFields) fields")
            }
    }

    /// A message that two readers might take for two different ones (RFC 9112 §11.2).
    static func malformed(_ message: String) -> MessageFault { MessageFault(400, message) }

    /// What the upstream sent is no answer that may be passed on.
    static func badAnswer(_ message: String) -> MessageFault {
        MessageFault(502, "the upstream's answer \(message)")
    }
}
