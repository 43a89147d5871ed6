// SPDX-License-Identifier: MIT

import Glibc

/// The processor time of the current thread, which other programs do not affect.
package enum ThreadTime {
    package static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Returns the processor time that `body` used.
    package static func spent(in body: () throws -> Void) rethrows -> Duration {
        let start = now
        try body()
        return now - start
    }
}
