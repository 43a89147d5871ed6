// SPDX-License-Identifier: MIT

import Logging
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

    init(alarm: Alarm<UInt64>) {
        self.alarm = alarm
    }

    /// Revokes the tokens of a record without a session, and erases all its secrets.
    func end(_ snapshot: SessionSnapshot, of name: SessionName, in agent: isolated SessionAgent) {
        let request = RevocationRequest(ending: snapshot)
        agent.erasure.erase(snapshot.secrets.subtracting(request.secrets))
        begin(request, for: name, in: agent)
    }

    /// Revokes the tokens of `request` and then erases them, unless the session uses one of them by then.
    func begin(_ request: RevocationRequest, for name: SessionName, in agent: isolated SessionAgent) {
        alarm.onFire { [weak agent] in
            agent?.assumeIsolated { $0.requests.logouts.late.timeReached(in: $0) }
        }
        latest += 1
        let isRepeated = late.count < OrphanedTokenRevocations.maximumRepeated
        let end = agent.now + (isRepeated ? RetrySchedule.revocationPersistence : .zero)
        late[latest] = PendingRevocation(request: request, session: name, givenUpAt: end)
        revoke(latest, in: agent)
    }

    /// Returns whether the session uses a token of `request`: some servers reuse the previous login's refresh
    /// token for the next login.
    private static func isInUse(
        _ request: RevocationRequest,
        by name: SessionName,
        in agent: isolated SessionAgent
    ) -> Bool {
        let present = agent.sessions[name]?.session.snapshot(at: agent.moment)?.secrets ?? []
        let memory = agent.ports.memory
        return request.secrets.contains { secret in
            present.contains { other in
                unsafe (try? memory.open(secret) { text in unsafe try memory.holds(text, in: other) })
                    ?? false
            }
        }
    }

    /// Sends the revocations that are due.
    func timeReached(in agent: isolated SessionAgent) {
        for number in alarm.takeDue() { revoke(number, in: agent) }
        alarm.set()
    }

    private func revoke(_ number: UInt64, in agent: isolated SessionAgent) {
        guard let due = late[number] else { return }
        Task {
            // Checked in a later turn: in this one, the session may still have tokens that another login is
            // about to replace.
            guard !OrphanedTokenRevocations.isInUse(due.request, by: due.session, in: agent) else {
                return forget(number, in: agent)
            }
            let outcome = await agent.requests.logouts.outcome(of: due.request, for: due.session, in: agent)
            finish(number, outcome, in: agent)
        }
    }

    private func finish(_ number: UInt64, _ outcome: RevocationOutcome, in agent: isolated SessionAgent) {
        // Missing if the agent has locked meanwhile.
        guard var due = late[number] else { return }
        guard case .failed(let failure) = outcome else { return forget(number, in: agent) }
        guard agent.now < due.givenUpAt else {
            let values: Logger.Metadata = ["error": "\(failure.message)"]
            agent.journal.write(.warning, "late tokens not revoked", due.session, values)
            return forget(number, in: agent)
        }
        due.failures += 1
        late[number] = due
        let delay = RetrySchedule.backoff(
            failures: due.failures,
            cap: .seconds(3600),
            jitter: agent.ports.chance()
        )
        alarm.plan(number, at: min(due.givenUpAt, agent.now + max(delay, failure.retryAfter ?? .zero)))
    }

    private func forget(_ number: UInt64, in agent: isolated SessionAgent) {
        guard let request = late.removeValue(forKey: number)?.request else { return }
        agent.erasure.erase(request.secrets)
    }

    /// Drops all revocations when the agent locks; the lock erases the tokens with the keys.
    func end() {
        late = [:]
        alarm.cancel()
    }
}
