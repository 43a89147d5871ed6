// SPDX-License-Identifier: MIT

import Logging
import TokenCore

/// The agent's receiver of the socket's requests.
struct RequestReceiver: HTTPRequestServing {
    let agent: SessionAgent

    func connectionOpened(_ connection: Connection) {
        agent.assumeIsolated { $0.requests.connectionOpened(connection) }
    }

    func prepareToken(of session: SessionName, then done: @escaping @Sendable (RequestFailure?) -> Void) {
        agent.assumeIsolated { $0.requests.tokens.preparations.prepare(session, then: done) }
    }

    func receive(_ request: HTTPRequest, on connection: Connection) {
        agent.assumeIsolated { $0.requests.handle(request, on: connection) }
    }

    func peerLeft(_ connection: Connection) {
        agent.assumeIsolated { $0.requests.withdraw(connection) }
    }

    func streamDropped(_ connection: Connection) {
        var metadata: Logger.Metadata = ["pid": "\(connection.caller.peer.processID)"]
        if let path = connection.caller.socketPath { metadata["socket"] = "\(path)" }
        agent.ports.logger.notice("stream dropped: the peer does not read it", metadata: metadata)
    }
}
