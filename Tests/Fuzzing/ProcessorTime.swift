// SPDX-License-Identifier: MIT

import Glibc

/// A limit on the processor time of one call, because slow input would delay all other requests.
///
/// The processor time of the calling thread does not depend on the load of the machine or on other threads. The
/// fastest of three calls counts, because a virtual machine's time includes varying time of its host. The instrumented
/// build takes several times as long as the shipped one, which makes the limit stricter.
enum ProcessorTime {
    static let limit: Duration = .milliseconds(100)
    private static let calls = 3

    /// Calls `body` and ends the process if each call takes more than ``limit``, so that the fuzzer saves the input.
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
