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

    /// A message that two readers might take for two different ones (RFC 9112 §11.2).
    static func malformed(_ message: String) -> MessageFault { MessageFault(400, message) }

    /// What the upstream sent is no answer that may be passed on.
    static func badAnswer(_ message: String) -> MessageFault {
        MessageFault(502, "the upstream's answer \(message)")
    }
}
