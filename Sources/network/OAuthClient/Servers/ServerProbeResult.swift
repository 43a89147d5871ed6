// SPDX-License-Identifier: MIT

import Synchronization
import TokenCore

/// The result of one probe of a server.
package struct ServerProbeResult: Equatable, Sendable {
    /// A clause for the user.
    package var words: String
    /// The time by which the server's clock is ahead of this machine's, or `nil` if it sends none.
    package var clockLead: Duration?

    package init(_ words: String, clockLead: Duration? = nil) {
        self.words = words
        self.clockLead = clockLead
    }
}

/// The network, with a record of the servers' clocks (RFC 9110 §6.6.1).
final class ClockComparingExchange: HTTPExchanging {
    private let exchange: any HTTPExchanging
    private let timekeeper: any Timekeeper
    private let lead = Mutex<Duration?>(nil)

    init(_ exchange: any HTTPExchanging, _ timekeeper: any Timekeeper) {
        self.exchange = exchange
        self.timekeeper = timekeeper
    }

    /// The time by which the clock of the last server that sent one is ahead of this machine's.
    var clockLead: Duration? { lead.withLock { $0 } }

    func send(_ request: OutgoingRequest) async throws(TransportFailure) -> ServerResponse {
        let reply = try await exchange.send(request)
        if let time = reply.serverTime {
            // A cache sends the time of the original response, and its age (RFC 9111 §5.1).
            let age = reply.header("age").flatMap { Int64($0) }.map { min(max($0, 0), 31_536_000) } ?? 0
            lead.withLock { $0 = time + .seconds(age) - timekeeper.wallTime }
        }
        return reply
    }
}
