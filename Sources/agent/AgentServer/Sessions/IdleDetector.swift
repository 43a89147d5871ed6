// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// Detects that the agent has become idle, and that the machine has slept.
///
/// Responses from the cache do not count as work: an agent that only serves valid tokens is idle.
///
/// Confined to the agent's event loop.
final class IdleDetector {
    /// The minimum jump between the two clocks that counts as a sleep of the machine.
    private static let minimumSleep = Duration.seconds(2)

    /// Releases memory that an idle agent does not need.
    private let onQuiet: @Sendable () -> Void
    /// The number of jobs at the last check.
    private var jobsSeen = 0
    /// Whether the agent was idle at the last check.
    private var isBegun = false
    /// The lead of the boot-time clock over the loop's clock at the last check.
    ///
    /// The loop's clock does not advance while the machine sleeps.
    private var timeAsleep: Duration?

    init(_ onQuiet: @escaping @Sendable () -> Void) {
        self.onQuiet = onQuiet
    }

    /// Releases unneeded memory if the agent becomes idle now.
    ///
    /// `jobs` is the number of jobs since the start of the agent.
    ///
    /// - Returns: Whether the agent is idle.
    func look(jobs: Int, isWorking: Bool) -> Bool {
        if begins(jobs: jobs, isWorking: isWorking) { onQuiet() }
        return isBegun
    }

    /// Releases memory again if the agent is idle, after something that is not work may have used some.
    func again() {
        if isBegun { onQuiet() }
    }

    /// Returns whether the agent becomes idle now; `true` once for each idle period.
    ///
    /// The agent is idle if no job began since the last check and no work is pending. `jobs` counts all jobs
    /// since the start of the agent.
    func begins(jobs: Int, isWorking: Bool) -> Bool {
        defer { jobsSeen = jobs }
        guard jobs == jobsSeen, !isWorking else {
            isBegun = false
            return false
        }
        defer { isBegun = true }
        return !isBegun
    }

    /// Returns whether the machine has slept since the last check.
    func hasSlept(now: Instant) -> Bool {
        let ahead =
            Duration.nanoseconds(now.nanoseconds)
            - .nanoseconds(Int64(clamping: NIODeadline.now().uptimeNanoseconds))
        defer { timeAsleep = ahead }
        return timeAsleep.map { ahead - $0 > Self.minimumSleep } ?? false
    }
}
