// SPDX-License-Identifier: MIT

import TokenCore

@testable import AgentServer

/// Records the requests of connections, and responds at once only if ``answer`` is set.
final class RecordingAgent: HTTPRequestServing, @unchecked Sendable {
    // Unchecked: used on the one thread of an embedded event loop.
    private(set) var received: [(request: HTTPRequest, connection: Connection)] = []
    private(set) var left = 0
    private(set) var dropped = 0
    /// The response to every request, or `nil` if the test responds itself.
    var answer: HTTPResponse? = HTTPResponse(status: .ok, body: Array("{\"ok\":true}\n".utf8))

    func connectionOpened(_ connection: Connection) {}

    func prepareToken(
        of session: SessionName,
        then done: @escaping @Sendable (RequestFailure?) -> Void
    ) {
        done(nil)
    }

    func receive(_ request: HTTPRequest, on connection: Connection) {
        received.append((request, connection))
        if let answer { connection.answer(answer) }
    }

    func peerLeft(_ connection: Connection) {
        left += 1
    }

    func streamDropped(_ connection: Connection) {
        dropped += 1
    }
}
