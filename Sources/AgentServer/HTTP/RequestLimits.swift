// SPDX-License-Identifier: MIT

import NIOCore

/// How much of the agent one connection may use.
struct RequestLimits: Sendable {
    /// Bytes of the request line without its line end; room for long scope lists.
    var requestLine = 4_096
    /// Bytes of all header fields together.
    var headers = 8_192
    var body = 65_536
    /// From the first byte of a request to its last, so that a trickling peer holds nothing for long.
    var requestTime = TimeAmount.seconds(5)
    /// How long a peer may leave more than ``unreadAnswers`` unread.
    var stallTime = TimeAmount.seconds(10)
    /// Bytes queued for a peer before the agent reads no more of its requests.
    var unreadAnswers = 262_144
    /// How long a refused peer's remaining bytes are thrown away, so that it can still read the refusal.
    var lingerTime = TimeAmount.seconds(2)
    /// How long a peer that is given no token at a socket for bare tokens is kept waiting: longer than systemd lets a unit
    /// start (90 s), because the end of the connection would read as an empty token.
    var withholdTime = TimeAmount.seconds(120)

    /// Bytes of pipelined requests kept while one is being answered: one whole request.
    var readAhead: Int { requestLine + headers + body }
}
