// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// Notices when a working agent has come to rest, and when the machine has slept.
///
/// Answers from memory are no work: an agent that only serves good tokens rests.
struct IdleMonitor {
    private static let shortestSleep = Duration.seconds(2)

    let clocks: ClockSteps

    /// Gives back what a rest does not need.
    private let onQuiet: @Sendable () -> Void
    /// How much work there had been at the last look.
    private var jobsSeen = 0
    /// Whether the last look found a rest.
    private var isBegun = false
    /// How far the boot-time clock was ahead of the loop's own clock at the last look; the latter stands
    /// still during sleep.
    private var timeAsleep: Duration?

    init(_ onQuiet: @escaping @Sendable () -> Void, clocks: ClockSteps) {
        self.onQuiet = onQuiet
        self.clocks = clocks
    }

    /// Gives back what is not needed if a rest begins now.
    ///
    /// - Returns: whether the agent is at rest.
    mutating func look(jobs: Int, isWorking: Bool) -> Bool {
        if begins(jobs: jobs, isWorking: isWorking) { onQuiet() }
        return isBegun
    }

    /// Something that is no work has disturbed the rest, if this is one, and may have left something in memory.
    func again() {
        if isBegun { onQuiet() }
    }

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
