// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// Notices when a working agent has come to rest, and when the machine has slept.
///
/// Answers from memory are no work: an agent that only serves good tokens rests.
struct Rest {
    private static let shortestSleep = Duration.seconds(2)

    /// How much work there had been at the last look.
    private var jobsSeen = 0
    /// Whether the last look found a rest.
    private(set) var isBegun = false
    /// How far the boot-time clock was ahead of the loop's own clock at the last look; the latter stands
    /// still during sleep.
    private var timeAsleep: Duration?

    /// Whether a rest begins now; true once for each rest.
    ///
    /// Nothing may have begun since the last look or be under way; `jobs` counts all work there ever was.
    mutating func begins(jobs: Int, isWorking: Bool) -> Bool {
        defer { jobsSeen = jobs }
        guard jobs == jobsSeen, !isWorking else {
            isBegun = false
            return false
        }
        defer { isBegun = true }
        return !isBegun
    }

    /// Whether the machine has slept since the last look.
    mutating func hasSlept(now: Instant) -> Bool {
        let ahead =
            Duration.nanoseconds(now.nanoseconds)
            - .nanoseconds(Int64(clamping: NIODeadline.now().uptimeNanoseconds))
        defer { timeAsleep = ahead }
        return timeAsleep.map { ahead - $0 > Self.shortestSleep } ?? false
    }
}
