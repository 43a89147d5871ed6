// SPDX-License-Identifier: MIT

import CHardening
import TokenCore

/// The moments of one guarded exchange, in nanoseconds of the boot-time clock.
struct GuardedExchangeLimits: Equatable, Sendable {
    /// From here on nothing of the request is sent.
    var sendBefore: Int64
    /// From here on nobody waits for an answer.
    var end: Int64

    /// Longer than the agent takes to hear of a guard's answer at its very end.
    private static let margin = Duration.milliseconds(500)

    /// The moments of `fence`, or else those that lie `left` from now.
    init(_ fence: ExchangeFence?, left: Duration) {
        let latest =
            hardening_boot_clock() + max(.zero, left + GuardedExchangeLimits.margin).saturatedNanoseconds
        end = min(fence?.endBefore.nanoseconds ?? latest, latest)
        sendBefore = min(fence?.sendBefore.nanoseconds ?? end, end)
    }
}
