// SPDX-License-Identifier: MIT

import Glibc

/// What one call of ours may take: input that needs more than this stops everybody who waits behind it.
///
/// Processor time of the whole process, which has nothing else to do, so that neither a busy machine nor work on another
/// thread matters. The instrumented build takes several times as long as the one that ships, which is to our advantage.
enum ProcessorTime {
    static let limit: Duration = .milliseconds(100)
    /// What `body` returns; ends the process, so that the input is kept, when it took more than ``limit``.
    @discardableResult
    static func limited<Result>(_ what: StaticString, _ body: () -> Result) -> Result {
        let start = now()
        let result = body()
        let taken = now() - start
        guard taken <= limit else { fatalError("\(what) took \(taken)") }
        return result
    }

    private static func now() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
