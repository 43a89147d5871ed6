// SPDX-License-Identifier: MIT

import Glibc

/// An instant on the boot clock by which something must have happened, or no limit.
struct Deadline {
    /// The instant in nanoseconds since boot, or `nil` for no deadline.
    private let instant: Int64?

    static let none = Deadline(after: nil)

    init(after timeout: Duration?) {
        instant = timeout.map { Deadline.now &+ max($0, .zero).nanoseconds }
    }

    /// The timeout for poll(2): milliseconds rounded up, 0 when the instant has passed, -1 for no deadline.
    var pollTimeout: Int32 {
        guard let instant else { return -1 }
        let left = max(0, instant - Deadline.now)
        return Int32(clamping: (left + 999_999) / 1_000_000)
    }

    var isSet: Bool { instant != nil }

    static func < (left: Deadline, right: Deadline) -> Bool {
        guard let instant = left.instant else { return false }
        return right.instant.map { instant < $0 } ?? true
    }

    /// The current time in nanoseconds since boot.
    static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

extension Duration {
    /// The duration in whole nanoseconds, at most about 31 years.
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return min(seconds, 1_000_000_000) * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
