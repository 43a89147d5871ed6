// SPDX-License-Identifier: MIT

import Synchronization
import TokenCore

/// What one look at a server has shown.
package struct ServerFinding: Equatable, Sendable {
    /// A clause for a person.
    package var words: String
    /// By how much the server's clock is ahead of ours; `nil`: it does not say the time.
    package var clockLead: Duration?

    package init(_ words: String, clockLead: Duration? = nil) {
        self.words = words
        self.clockLead = clockLead
    }
}

/// The network, with the clocks of the servers noted (RFC 9110 §6.6.1).
final class ClockComparingExchange: HTTPExchanging {
    private let exchange: any HTTPExchanging
    private let timekeeper: any Timekeeper
    private let lead = Mutex<Duration?>(nil)

    init(_ exchange: any HTTPExchanging, _ timekeeper: any Timekeeper) {
        self.exchange = exchange
        self.timekeeper = timekeeper
    }

    /// By how much the clock of the last server that told the time is ahead of ours.
    var clockLead: Duration? { lead.withLock { $0 } }

    func send(_ request: OutgoingRequest) async throws(TransportFailure) -> ServerResponse {
        let reply = try await exchange.send(request)
        if let time = reply.serverTime {
            // A cache tells when it got the answer, and how long ago that was (RFC 9111 §5.1).
            let age = reply.header("age").flatMap { Int64($0) }.map { min(max($0, 0), 31_536_000) } ?? 0
            lead.withLock { $0 = time + .seconds(age) - timekeeper.wallTime }
        }
        return reply
    }
}
