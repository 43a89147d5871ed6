// SPDX-License-Identifier: MIT

import TokenCore

/// What a connection hands its requests to, on the event loop.
protocol HTTPRequestServing: Sendable {
    /// A peer has connected; nothing has been read from it.
    func welcome(_ connection: Connection)
    /// Gets `session` a token that can be given without waiting, and calls `done` once, with the reason if there is none.
    func prepareToken(of session: SessionName, then done: @escaping @Sendable (RequestFailure?) -> Void)
    /// Answers `request` on `connection`, now or later.
    func receive(_ request: HTTPRequest, on connection: Connection)
    /// The peer left while its request was being answered.
    func peerLeft(_ connection: Connection)
    /// An endless answer is ended because the peer has left too much of it unread.
    func streamDropped(_ connection: Connection)
}
