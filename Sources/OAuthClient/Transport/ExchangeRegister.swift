// SPDX-License-Identifier: MIT

import Synchronization

/// The tries under way, so that those that hang without a connection can be started again.
final class ExchangeRegister: Sendable {
    private struct Try {
        var stage: ConnectionStage
        var work: Task<ServerResponse, any Error>
    }

    private let tries: Mutex<[ObjectIdentifier: Try]> = Mutex([:])

    func add(_ stage: ConnectionStage, _ work: Task<ServerResponse, any Error>) {
        tries.withLock { $0[ObjectIdentifier(stage)] = Try(stage: stage, work: work) }
    }

    func remove(_ stage: ConnectionStage) {
        tries.withLock { $0[ObjectIdentifier(stage)] = nil }
    }

    /// Ends the tries that have waited for a connection for at least `age`; calls `prepare` first if there
    /// are any.
    func giveUp(hangingSince age: Duration, after prepare: () -> Void) {
        let hanging = tries.withLock { tries in tries.values.filter { $0.stage.hangs(since: age) } }
        guard !hanging.isEmpty else { return }
        prepare()
        for one in hanging where one.stage.giveUp() { one.work.cancel() }
    }
}
