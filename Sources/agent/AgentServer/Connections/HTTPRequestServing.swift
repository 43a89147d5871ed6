// SPDX-License-Identifier: MIT

import TokenCore

/// The receiver of a connection's requests, on the event loop.
protocol HTTPRequestServing: Sendable {
    /// Handles a new connection, from which nothing has been read.
    func connectionOpened(_ connection: Connection)
    /// Prepares a token of `session` that can be served without waiting.
    ///
    /// `done` is called once, with the failure if there is none.
    func prepareToken(of session: SessionName, then done: @escaping @Sendable (RequestFailure?) -> Void)
    /// Processes `request` and responds on `connection`, now or later.
    func receive(_ request: HTTPRequest, on connection: Connection)
    /// Handles a peer that closed its connection before the response.
    func peerLeft(_ connection: Connection)
    /// Handles an endless response that is dropped because the peer has left too much of it unread.
    func streamDropped(_ connection: Connection)
}
