// SPDX-License-Identifier: MIT

import Synchronization

/// The attempts in flight, kept so that attempts without a connection can be restarted.
final class ActiveAttempts: Sendable {
    private struct AttemptTask {
        var stage: ExchangeAttempt
        var work: Task<ServerResponse, any Error>
    }

    private let tries: Mutex<[ObjectIdentifier: AttemptTask]> = Mutex([:])

    func add(_ stage: ExchangeAttempt, _ work: Task<ServerResponse, any Error>) {
        tries.withLock { $0[ObjectIdentifier(stage)] = AttemptTask(stage: stage, work: work) }
    }

    func remove(_ stage: ExchangeAttempt) {
        tries.withLock { $0[ObjectIdentifier(stage)] = nil }
    }

    /// Ends the attempts that have waited for a connection for at least `age`.
    ///
    /// If there are any, `prepare` is called first.
    func giveUp(hangingSince age: Duration, after prepare: () -> Void) {
        let hanging = tries.withLock { tries in tries.values.filter { $0.stage.isStalled(since: age) } }
        guard !hanging.isEmpty else { return }
        prepare()
        for one in hanging where one.stage.giveUp() { one.work.cancel() }
    }
}
