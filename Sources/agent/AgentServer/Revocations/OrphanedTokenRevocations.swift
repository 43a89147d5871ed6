// SPDX-License-Identifier: MIT

import Logging
import SecretMemory
import TokenCore

/// Revocations of tokens that arrived too late to be used, or whose login was replaced.
///
/// They are retried until the server has responded, for at most one day. They are not stored, so a restart
/// ends them.
///
/// Confined to the agent's event loop.
final class OrphanedTokenRevocations {
    private struct PendingRevocation {
        var request: RevocationRequest
        var session: SessionName
        var failures = 0
        var givenUpAt: Instant
    }

    /// The maximum number of revocations that are retried; any further one is sent once.
    private static let maximumRepeated = 100

    private var late: [UInt64: PendingRevocation] = [:]
    private var latest: UInt64 = 0
    private let alarm: Alarm<UInt64>
    private let revoker: TokenRevoker
    private let registry: SessionRegistry
    private let erasure: DeferredSecretErasure
    private let memory: SealedMemory
    private let timekeeper: any Timekeeper
    private let chance: @Sendable () -> Double
    private let log: SessionLog
    private let tasks: LoopTasks

    init(
        alarm: Alarm<UInt64>,
        revoker: TokenRevoker,
        registry: SessionRegistry,
        erasure: DeferredSecretErasure,
        ports: AgentPorts,
        log: SessionLog,
        tasks: LoopTasks
    ) {
        self.alarm = alarm
        self.revoker = revoker
        self.registry = registry
        self.erasure = erasure
        memory = ports.memory
        timekeeper = ports.timekeeper
        chance = ports.chance
        self.log = log
        self.tasks = tasks
        alarm.onFire { [weak self] in self?.timeReached() }
    }

    /// Revokes the tokens of a record without a session, and erases all its secrets.
    func end(_ snapshot: SessionSnapshot, of name: SessionName) {
        let request = RevocationRequest(ending: snapshot)
        erasure.erase(snapshot.secrets.subtracting(request.secrets))
        begin(request, for: name)
    }

    /// Revokes the tokens of `request` and then erases them, unless the session uses one of them by then.
    func begin(_ request: RevocationRequest, for name: SessionName) {
        latest += 1
        let isRepeated = late.count < OrphanedTokenRevocations.maximumRepeated
        let end = timekeeper.now + (isRepeated ? RetrySchedule.revocationPersistence : .zero)
        late[latest] = PendingRevocation(request: request, session: name, givenUpAt: end)
        revoke(latest)
    }

    /// Returns whether the session uses a token of `request`: some servers reuse the previous login's refresh
    /// token for the next login.
    private func isInUse(_ request: RevocationRequest, by name: SessionName) -> Bool {
        let present = registry[name]?.session.snapshot(at: timekeeper.moment)?.secrets ?? []
        return request.secrets.contains { secret in
            present.contains { other in
                unsafe (try? memory.open(secret) { text in unsafe try memory.holds(text, in: other) })
                    ?? false
            }
        }
    }

    /// Sends the revocations that are due.
    func timeReached() {
        for number in alarm.takeDue() { revoke(number) }
        alarm.set()
    }

    private func revoke(_ number: UInt64) {
        guard let due = late[number] else { return }
        tasks.start {
            // Checked in a later turn: in this one, the session may still have tokens that another login is
            // about to replace.
            guard !self.isInUse(due.request, by: due.session) else {
                return self.forget(number)
            }
            let outcome = await self.revoker.outcome(of: due.request, for: due.session)
            self.finish(number, outcome)
        }
    }

    private func finish(_ number: UInt64, _ outcome: RevocationOutcome) {
        // Missing if the agent has locked meanwhile.
        guard var due = late[number] else { return }
        guard case .failed(let failure) = outcome else { return forget(number) }
        guard timekeeper.now < due.givenUpAt else {
            let values: Logger.Metadata = ["error": "\(failure.message)"]
            log.write(.warning, "late tokens not revoked", due.session, values)
            return forget(number)
        }
        due.failures += 1
        late[number] = due
        let delay = RetrySchedule.backoff(
            failures: due.failures,
            cap: .seconds(3600),
            jitter: chance()
        )
        alarm.plan(number, at: min(due.givenUpAt, timekeeper.now + max(delay, failure.retryAfter ?? .zero)))
    }

    private func forget(_ number: UInt64) {
        guard let request = late.removeValue(forKey: number)?.request else { return }
        erasure.erase(request.secrets)
    }

    /// Drops all revocations when the agent locks; the lock erases the tokens with the keys.
    func end() {
        late = [:]
        alarm.cancel()
    }
}
