// SPDX-License-Identifier: MIT

/// Counts what happens, and when.
struct LoadMeter {
    /// What is counted for each second.
    enum Flow: Int, CaseIterable {
        case reads
        case writes
        case responses
        /// Of watch responses.
        case bytes
    }

    /// What takes time.
    enum Span: Int, CaseIterable {
        /// From the commit in etcd to the memory of another host.
        case publish
        /// From the commit to the memory of the last host.
        case lastHost
        /// From the moment a token is due to the new one in the memory of the host that refreshed.
        case refresh
        /// What a call waits for a core of etcd.
        case queue
        /// For which a host was without a good token.
        case without
    }

    /// What is counted in all.
    enum Total: Int, CaseIterable {
        /// Records that were replaced when they were due.
        case expiries
        case requests
        /// Requests before the record was due on any host.
        case early
        /// Requests with a refresh token that the server does not forgive any more: they end the login.
        case lostLogins
        case timeouts
        case authentications
        case connections
        /// Leases granted for a lock.
        case leases
        /// Hosts that asked for a lock and did not get it.
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

    /// What happened in each second of a window.
    func rate(_ flow: Flow, _ window: Range<Int>) -> Rate {
        let series = flows[flow.rawValue]
        let values = window.map { series.indices.contains($0) ? series[$0] : 0 }.sorted()
        guard let peak = values.last else { return Rate(mean: 0, p99: 0, peak: 0) }
        let sum = values.reduce(0) { $0 + Double($1) }
        let index = Int((Double(values.count) * 0.99).rounded(.up)) - 1
        return Rate(mean: sum / Double(values.count), p99: Int(values[index]), peak: Int(peak))
    }
}

/// A number of things in a second.
package struct Rate: Equatable, Sendable {
    package var mean: Double
    /// In 99 of 100 seconds no more.
    package var p99: Int
    package var peak: Int
}
