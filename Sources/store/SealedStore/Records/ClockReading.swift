// SPDX-License-Identifier: MIT

import Glibc
import SecretMemory
import TokenCore

/// The boot-time clock and the wall clock at one moment, with the boot ID, so that a stored instant remains
/// meaningful after a reboot.
struct ClockReading: Equatable, Sendable {
    var boot: RandomID
    var now: Instant
    var wallTime: WallTime
    /// The maximum time by which the wall clock of another reading may be ahead and still count as the same
    /// moment.
    var tolerance = Duration.zero

    /// Whether the wall clock is etcd's, which all hosts of a fleet use.
    var isOfManyHosts: Bool { tolerance > .zero }

    var offset: WallClockOffset { WallClockOffset(Moment(now: now, wallTime: wallTime)) }

    /// Translates `instant` to the clock of this reading.
    ///
    /// Within one boot, the boot-time clock is the same. Across boots, the wall clock tells how long ago
    /// `written` was, rounded up so that nothing appears newer than it is.
    ///
    /// - Returns: the instant, or `nil` if the clocks contradict each other.
    func translate(_ instant: Instant, from written: ClockReading) -> Instant? {
        guard written.boot != boot else { return written.now <= now ? instant : nil }
        let elapsed = wallTime - written.wallTime
        guard elapsed >= .zero - tolerance else { return nil }
        return instant + ((now - written.now) - max(elapsed, .zero) - .seconds(1))
    }
}

/// The identity of the running boot.
package enum BootID {
    /// Returns the kernel's random boot ID.
    ///
    /// If it cannot be read, the result is a new one, so that every stored instant is translated by the wall
    /// clock.
    package static func current() -> RandomID {
        let descriptor = unsafe open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return .random() }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = unsafe read(descriptor, &bytes, bytes.count)
        let text = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
        return RandomID(hexadecimal: text.prefix { $0 != "\n" }) ?? .random()
    }
}
