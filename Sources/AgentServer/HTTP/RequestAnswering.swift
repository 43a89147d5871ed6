// SPDX-License-Identifier: MIT

/// What a connection hands its requests to, on the event loop.
protocol RequestAnswering: Sendable {
    /// A peer has connected; nothing has been read from it.
    func welcome(_ connection: Connection)
    /// Answers `request` on `connection`, now or later.
    func receive(_ request: HTTPRequest, on connection: Connection)
    /// The peer left while its request was being answered.
    func peerLeft(_ connection: Connection)
    /// An endless answer is ended because the peer has left too much of it unread.
    func streamDropped(_ connection: Connection)
}
