// SPDX-License-Identifier: MIT

/// An unfinished refresh, found at a start of the agent.
package struct InterruptedRefresh: Equatable, Sendable {
    /// The number of consecutive starts that have found an unfinished refresh, including this one.
    package var starts: Int
    /// The number of processes that began to read the stored response and did not finish, or `nil` without
    /// one.
    ///
    /// A response that may still arrive counts as stored.
    package var readings: Int?

    /// The number of starts that may be interrupted before the response arrives.
    private static let toleratedStarts = 8

    package init(starts: Int, readings: Int? = nil) {
        self.starts = starts
        self.readings = readings
    }

    /// The delay of this start before it reads the response, or requests it again.
    ///
    /// There is no delay at the first two starts: a power cut or a kill may happen again, and a grace window
    /// may still be open. Then it is 30, 60, 120 s and so on up to an hour. A response that crashes the
    /// process must not crash it again and again, and with it all other sessions.
    ///
    /// If the response is stored here, the processes that began to read it count. A kill before the response
    /// arrived says nothing about the response, unless there were improbably many.
    package var wait: Duration {
        let suspicions = readings.map { max($0 + 1, starts - InterruptedRefresh.toleratedStarts) } ?? starts
        guard suspicions > 2 else { return .zero }
        return min(.seconds(3600), .seconds(30) * (1 << min(suspicions - 3, 7)))
    }
}
