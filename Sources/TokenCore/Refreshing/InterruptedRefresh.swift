// SPDX-License-Identifier: MIT

/// A refresh without its end, as a start of the agent finds it.
package struct InterruptedRefresh: Equatable, Sendable {
    /// Starts in a row that have found one, this one included.
    package var starts: Int
    /// How many processes have begun to read the answer that lies here, or may still come, without an end; `nil`: none
    /// lies here.
    package var readings: Int?

    /// Starts that may have been interrupted before the answer came.
    private static let patience = 8

    package init(starts: Int, readings: Int? = nil) {
        self.starts = starts
        self.readings = readings
    }

    /// How long this start waits before it takes the answer, or asks for it again.
    ///
    /// None the first two times: a power cut or a kill may come once more, and a grace window may still be open. Then 30,
    /// 60, 120 s and so on up to an hour: an answer that ends the process must not end it again and again, and with it all
    /// other sessions. Where the answer lies here, who has begun to read it counts: a kill while it was on its way says
    /// nothing about it, unless there were more of them than anybody makes.
    package var wait: Duration {
        let suspicions = readings.map { max($0 + 1, starts - InterruptedRefresh.patience) } ?? starts
        guard suspicions > 2 else { return .zero }
        return min(.seconds(3600), .seconds(30) * (1 << min(suspicions - 3, 7)))
    }
}
