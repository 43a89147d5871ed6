// SPDX-License-Identifier: MIT

import NIOCore

/// The limits of one connection's use of the agent.
struct RequestLimits: Sendable {
    /// The maximum length in bytes of the request line without its line end; enough for long scope lists.
    var requestLine = 4_096
    /// The maximum length in bytes of all header fields together.
    var headers = 8_192
    /// The maximum length in bytes of a body.
    var body = 65_536
    /// The maximum time from the first byte of a request to its last, so that a slow peer occupies nothing
    /// for long.
    var requestTime = TimeAmount.seconds(5)
    /// The maximum time for which a peer may leave more than ``unreadAnswers`` unread.
    var stallTime = TimeAmount.seconds(10)
    /// The number of bytes queued for a peer above which the agent reads no more of its requests.
    var unreadAnswers = 262_144
    /// The time for which remaining input is discarded after the last response, so that the peer can still
    /// read it.
    var lingerTime = TimeAmount.seconds(2)
    /// The time for which a peer without a token is kept waiting at a socket for bare tokens.
    ///
    /// It is longer than systemd lets a unit start (90 s), because the end of the connection would read as an
    /// empty token.
    var withholdTime = TimeAmount.seconds(120)

    /// The number of bytes of pipelined requests read while one is being processed: one complete request.
    var readAhead: Int { requestLine + headers + body }
}
