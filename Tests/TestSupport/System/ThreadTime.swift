// SPDX-License-Identifier: MIT

import Glibc

/// Processor time of the present thread, which no other program uses up.
package enum ThreadTime {
    package static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// What `body` computed.
    package static func spent(in body: () throws -> Void) rethrows -> Duration {
        let start = now
        try body()
        return now - start
    }
}
