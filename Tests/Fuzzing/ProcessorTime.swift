// SPDX-License-Identifier: MIT

import Glibc

/// What one call of ours may take: input that needs more than this stops everybody who waits behind it.
///
/// Processor time of the calling thread, so that neither a busy machine nor work on another thread matters; the
/// shortest of three calls, because what a host takes away from its guests is counted too, and is another time each
/// time. The instrumented build takes several times as long as the one that ships, which is to our advantage.
enum ProcessorTime {
    static let limit: Duration = .milliseconds(100)
    private static let calls = 3

    /// What `body` returns; ends the process, so that the input is kept, when it takes more than ``limit`` each time.
    ///
    /// - Parameters:
    ///   - what: the work, for the report.
    ///   - body: the work, which can be done again.
    /// - Returns: what `body` returned last.
    @discardableResult
    static func limited<Result>(
        _ what: StaticString,
        _ body: () -> Result
    ) -> Result {
        var shortest = Duration.seconds(3_600)
        for _ in 0..<calls {
            let start = now
            let result = body()
            shortest = min(shortest, now - start)
            if shortest <= limit { return result }
        }
        fatalError("\(what) took \(shortest)")
    }

    private static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
