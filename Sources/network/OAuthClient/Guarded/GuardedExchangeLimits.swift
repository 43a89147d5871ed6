// SPDX-License-Identifier: MIT

import CHardening
import TokenCore

/// The moments of one guarded exchange, in nanoseconds of the boot-time clock.
struct GuardedExchangeLimits: Equatable, Sendable {
    /// From here on nothing of the request is sent.
    var sendBefore: Int64
    /// The other end has acknowledged the whole request by then, or the connection is reset.
    var arriveBefore: Int64
    /// From here on nobody waits for an answer.
    var end: Int64

    /// How long the agent waits beyond ``end`` for what the guard has read by then.
    ///
    /// Both may have been stopped for a while, and then the agent's alarm rings before the guard has said anything.
    static let lastWord = Duration.seconds(2)

    /// The moments of `fence`, or else those that lie `left` from now.
    init(_ fence: RefreshRequestDeadlines?, left: Duration) {
        let latest = hardening_boot_clock() + max(.zero, left).saturatedNanoseconds
        end = min(fence?.endBefore.nanoseconds ?? latest, latest)
        arriveBefore = min(fence?.arriveBefore.nanoseconds ?? end, end)
        sendBefore = min(fence?.sendBefore.nanoseconds ?? end, end)
    }
}
