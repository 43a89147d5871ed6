// SPDX-License-Identifier: MIT

import Glibc
import TokenCore

/// Both clocks at one moment, with the boot they belong to, so that a stored instant means something later.
struct ClockReading: Equatable, Sendable {
    var boot: RandomID
    var now: Instant
    var wallTime: WallTime
    /// How far the wall clock of another reading may be ahead of this one, and still be taken for the same moment.
    var tolerance = Duration.zero

    /// Whether its wall clock is etcd's, which all hosts of a fleet share.
    var isOfManyHosts: Bool { tolerance > .zero }

    var offset: ClockOffset { ClockOffset(Moment(now: now, wallTime: wallTime)) }

    /// The same moment as `instant`, on the clock of this reading.
    ///
    /// Within one boot that is the boot-time clock itself. Across boots the wall clock tells how long ago `written`
    /// was, rounded up so that nothing looks younger than it is.
    /// - Returns: `nil` when the clocks contradict each other, so that nobody can tell.
    func translate(_ instant: Instant, from written: ClockReading) -> Instant? {
        guard written.boot != boot else { return written.now <= now ? instant : nil }
        let elapsed = wallTime - written.wallTime
        guard elapsed >= .zero - tolerance else { return nil }
        return instant + ((now - written.now) - max(elapsed, .zero) - .seconds(1))
    }
}

/// The identity of the running boot.
package enum BootID {
    /// The kernel's random boot identifier; a fresh one where it cannot be read, which makes every stored
    /// instant go by the wall clock.
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
