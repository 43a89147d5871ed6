// SPDX-License-Identifier: MIT

/// A point on the boot-time clock, which keeps counting while the machine is suspended.
///
/// Nanoseconds since boot (`CLOCK_BOOTTIME` on Linux). Arithmetic saturates: an absurd lifetime from a
/// server becomes a far future, never a trap.
package struct Instant: Comparable, Hashable, Sendable {
    /// The nanoseconds since boot, negative for a moment before it.
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Returns the instant `seconds` after boot.
    package static func seconds(_ seconds: Int64) -> Instant {
        Instant(nanoseconds: 0) + .seconds(seconds)
    }

    package static func < (left: Instant, right: Instant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    package static func + (instant: Instant, duration: Duration) -> Instant {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(duration.saturatedNanoseconds)
        guard overflow else { return Instant(nanoseconds: sum) }
        return Instant(nanoseconds: duration < .zero ? .min : .max)
    }

    package static func - (instant: Instant, duration: Duration) -> Instant {
        instant + (.zero - duration)
    }

    package static func - (left: Instant, right: Instant) -> Duration {
        .nanoseconds(left.nanoseconds) - .nanoseconds(right.nanoseconds)
    }
}

extension Duration {
    /// The duration in nanoseconds, clamped to 64 bits (about 292 years).
    package var saturatedNanoseconds: Int64 {
        let (seconds, attoseconds) = saturatedComponents
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, carried) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        guard !carried else { return seconds < 0 ? .min : .max }
        return sum
    }

    /// The duration in whole seconds, rounded towards zero.
    package var wholeSeconds: Int64 { saturatedComponents.seconds }

    /// The duration's components, clamped to 64-bit seconds.
    ///
    /// `components` itself traps beyond them.
    ///
    /// The difference of two extreme times can be such a duration.
    var saturatedComponents: (seconds: Int64, attoseconds: Int64) {
        min(max(self, .seconds(Int64.min)), .seconds(Int64.max)).components
    }
}
