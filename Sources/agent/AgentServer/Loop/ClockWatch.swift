// SPDX-License-Identifier: MIT

import CHardening
import Glibc

/// A monitor of the kernel's reports about steps of the wall clock (`TFD_TIMER_CANCEL_ON_SET`,
/// timerfd_create(2)).
///
/// Confined to the agent's event loop.
final class ClockWatch: ReadinessHandling {
    private let descriptor: CInt
    private let onStep: () -> Void

    private init(_ descriptor: CInt, onStep: @escaping () -> Void) {
        self.descriptor = descriptor
        self.onStep = onStep
    }

    deinit { close(descriptor) }

    /// Starts a monitor on `loop`, which ends with the loop.
    ///
    /// - Returns: `false` if the system denies such a timer.
    static func start(on loop: AgentLoop, onStep: @escaping () -> Void) -> Bool {
        let descriptor = hardening_watch_clock()
        guard descriptor >= 0 else { return false }
        let watch = ClockWatch(descriptor, onStep: onStep)
        return (try? loop.watch(descriptor, for: .readable, watch)) != nil
    }

    func ready(_ readiness: Readiness) {
        hardening_rearm_clock_watch(descriptor)
        onStep()
    }

    /// Does nothing: the loop releases this monitor, which then closes its descriptor.
    func loopEnded() {}
}
