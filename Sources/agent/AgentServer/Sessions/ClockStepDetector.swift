// SPDX-License-Identifier: MIT

import Logging
import SecretMemory
import Text
import TokenCore

/// Detection of steps of the wall clock against the boot-time clock.
///
/// Confined to the agent's event loop.
final class ClockStepDetector {
    /// The offset at the last comparison.
    private var offset: WallClockOffset
    private let registry: SessionRegistry
    private let memory: SealedMemory
    private let timekeeper: any Timekeeper
    private let logger: Logger

    init(registry: SessionRegistry, ports: AgentPorts) {
        self.registry = registry
        memory = ports.memory
        timekeeper = ports.timekeeper
        logger = ports.logger
        offset = WallClockOffset(timekeeper.moment)
    }

    /// Reports a step since the last call to every session.
    ///
    /// This is called when the kernel reports a step, before a token is served, and after each pause of
    /// ``Housekeeping``, as the pause of a virtual machine is not reported.
    func compare() {
        let latest = WallClockOffset(timekeeper.moment)
        defer { offset = latest }
        guard let step = latest.step(since: offset) else { return }
        logger.notice("wall clock stepped", metadata: ["seconds": "\(step.wholeSeconds)"])
        for (name, kept) in registry.entries {
            let ends = statedEnds(of: kept.session)
            registry.apply(name) { session, moment in
                session.wallClockStepped(by: step, statedEnds: ends, at: moment)
                return []
            }
        }
    }

    /// Passes the stated expiry times of stored tokens to a session, if they may date from before a step.
    func date(_ kept: SessionEntry, at moment: Moment) {
        guard kept.session.hasPossiblyExpiredTokens else { return }
        kept.session.restoredTokensState(statedEnds(of: kept.session), at: moment)
    }

    /// Returns the `exp` of every token of `session` that is a JWT.
    private func statedEnds(of session: Session) -> [SecretID: WallTime] {
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
