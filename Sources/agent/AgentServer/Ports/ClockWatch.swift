// SPDX-License-Identifier: MIT

import CHardening
import Glibc
import Logging
import SecretMemory
import Text
import TokenCore

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

/// Detection of steps of the wall clock against the boot-time clock.
///
/// Confined to the agent's event loop.
final class ClockStepDetector {
    /// The offset at the last comparison.
    private var offset: ClockOffset

    init(at moment: Moment) {
        offset = ClockOffset(moment)
    }

    /// Reports a step since the last call to every session.
    ///
    /// This is called when the kernel reports a step, before a token is served, and after each pause of
    /// ``Housekeeping``, as the pause of a virtual machine is not reported.
    func compare(in agent: isolated SessionAgent) {
        let latest = ClockOffset(agent.moment)
        defer { offset = latest }
        guard let step = latest.step(since: offset) else { return }
        agent.ports.logger.notice("wall clock stepped", metadata: ["seconds": "\(step.wholeSeconds)"])
        for (name, kept) in agent.sessions {
            let ends = statedEnds(of: kept.session, from: agent.ports.memory)
            agent.apply(name) { session, moment in
                session.wallClockStepped(by: step, statedEnds: ends, at: moment)
                return []
            }
        }
    }

    /// Passes the stated expiry times of stored tokens to a session, if they may date from before a step.
    func date(_ kept: SessionEntry, from memory: SealedMemory, at moment: Moment) {
        guard kept.session.hasPossiblyExpiredTokens else { return }
        kept.session.restoredTokensState(statedEnds(of: kept.session, from: memory), at: moment)
    }

    /// Returns the `exp` of every token of `session` that is a JWT.
    private func statedEnds(of session: Session, from memory: SealedMemory) -> [SecretID: WallTime] {
        let secrets = session.heldTokens.values.flatMap {
            [$0.secret, $0.idToken?.secret].compactMap(\.self)
        }
        let ends = secrets.compactMap { secret -> (SecretID, WallTime)? in
            let found = try? unsafe memory.open(secret) { bytes in
                unsafe JWTParts(String(decoding: bytes, as: UTF8.self))?.claims.seconds("exp")
            }
            guard let end = found ?? nil else { return nil }
            return (secret, WallTime(secondsSince1970: end))
        }
        return Dictionary(ends) { first, _ in first }
    }
}
