// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// Writes and removes the records of sessions, on the store's thread.
///
/// Confined to the agent's event loop.
final class RecordWriter {
    private let storeThread: StoreThread
    private let fleet: any SessionSharing
    private let registry: SessionRegistry
    private let phase: AgentPhase
    private let log: SessionLog
    private let eventLoop: any EventLoop
    /// The sessions whose files have not been removed yet.
    private var pending: Set<SessionName> = []

    init(
        storeThread: StoreThread,
        fleet: any SessionSharing,
        registry: SessionRegistry,
        phase: AgentPhase,
        log: SessionLog,
        eventLoop: any EventLoop
    ) {
        self.storeThread = storeThread
        self.fleet = fleet
        self.registry = registry
        self.phase = phase
        self.log = log
        self.eventLoop = eventLoop
    }

    /// Makes the session's record durable, and passes the result to the session.
    func commit(_ number: CommitNumber, _ snapshot: SessionSnapshot, for name: SessionName) {
        pending.remove(name)
        guard !fleet.takes(number, snapshot, of: name) else { return }
        let snapshot = fleet.marked(snapshot, of: name)
        storeThread.run { store in
            store.commit(name, snapshot)
        } then: { [registry] outcome in
            registry.apply(name) { session, moment in session.commitFinished(number, outcome, at: moment) }
        }
    }

    /// Removes the session's files, and retries until it works: a logout must survive a restart.
    func remove(_ name: SessionName) {
        guard !fleet.keepsRecord(of: name) else { return }
        pending.insert(name)
        remove(name, failures: 0)
    }

    private func remove(_ name: SessionName, failures: Int) {
        storeThread.attempt { store throws(StorageFailure) in
            try store.forget(name)
        } then: { [self] failure in
            guard let failure else {
                pending.remove(name)
                return
            }
            log.write(
                .error,
                "cannot remove the session's files",
                name,
                ["error": "\(failure.message)"]
            )
            removeLater(name, failures: failures + 1)
        }
    }

    private func removeLater(_ name: SessionName, failures: Int) {
        let seconds = Int64(min(60, 5 << min(failures - 1, 4)))
        eventLoop.assumeIsolated().scheduleTask(in: .seconds(seconds)) { [weak self] in
            guard let self, pending.contains(name), phase.isServing else { return }
            remove(name, failures: failures)
        }
    }

    /// Stops removing the files of `name`, which has left the configuration, or of all sessions if `name` is
    /// `nil`.
    ///
    /// Files that are still on disk are loaded if the session returns.
    func dropPending(of name: SessionName? = nil) {
        if let name { pending.remove(name) } else { pending = [] }
    }
}
