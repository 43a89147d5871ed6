// SPDX-License-Identifier: MIT

/// Counters of events, in total and for each second.
struct LoadMeter {
    /// The quantities counted for each second.
    enum Flow: Int, CaseIterable {
        case reads
        case writes
        case responses
        /// The bytes of watch responses.
        case bytes
    }

    /// The measured durations.
    enum Span: Int, CaseIterable {
        /// From the commit in etcd to the memory of another host.
        case publish
        /// From the commit to the memory of the last host.
        case lastHost
        /// From the due time of a token to the new token in the memory of the host that refreshed.
        case refresh
        /// The time that a call waits for a core of etcd.
        case queue
        /// The time that a host was without a valid token.
        case without
    }

    /// The quantities counted over the whole run.
    enum Total: Int, CaseIterable {
        /// Records that were replaced when they were due.
        case expiries
        case requests
        /// Requests before the record was due on any host.
        case early
        /// Requests with a refresh token that the server no longer accepts, which end the login.
        case lostLogins
        case timeouts
        case authentications
        case connections
        /// Leases granted for a lock.
        case leases
        /// Hosts that requested a lock and did not get it.
        case lostRaces
    }

    private var flows = [[UInt32]](repeating: [], count: Flow.allCases.count)
    private var spans = [Histogram](repeating: Histogram(), count: Span.allCases.count)
    private var totals = [Int](repeating: 0, count: Total.allCases.count)

    mutating func add(_ flow: Flow, _ amount: Int = 1, at time: Int64) {
        let second = Int(time / 1_000_000_000)
        while flows[flow.rawValue].count <= second { flows[flow.rawValue].append(0) }
        flows[flow.rawValue][second] &+= UInt32(clamping: amount)
    }

    mutating func add(_ span: Span, _ nanoseconds: Int64) { spans[span.rawValue].add(nanoseconds) }

    mutating func add(_ total: Total, _ amount: Int = 1) { totals[total.rawValue] += amount }

    func total(_ total: Total) -> Int { totals[total.rawValue] }

    func span(_ span: Span) -> Histogram { spans[span.rawValue] }

    /// Returns the rate of a quantity in a window of seconds.
    func rate(_ flow: Flow, _ window: Range<Int>) -> Rate {
        let series = flows[flow.rawValue]
        let values = window.map { series.indices.contains($0) ? series[$0] : 0 }.sorted()
        guard let peak = values.last else { return Rate(mean: 0, p99: 0, peak: 0) }
        let sum = values.reduce(0) { $0 + Double($1) }
        let index = Int((Double(values.count) * 0.99).rounded(.up)) - 1
        return Rate(mean: sum / Double(values.count), p99: Int(values[index]), peak: Int(peak))
    }
}

/// The number of events per second.
package struct Rate: Equatable, Sendable {
    package var mean: Double
    /// The number that is not exceeded in 99 of 100 seconds.
    package var p99: Int
    package var peak: Int
}
