// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// Writes and removes the records of sessions, on the store's thread.
///
/// Confined to the agent's event loop.
final class RecordWriter {
    private let storeThread: StoreThread
    /// The sessions whose files have not been removed yet.
    private var pending: Set<SessionName> = []

    init(storeThread: StoreThread) {
        self.storeThread = storeThread
    }

    /// Makes the session's record durable, and passes the result to the session.
    func commit(
        _ number: CommitNumber,
        _ snapshot: SessionSnapshot,
        for name: SessionName,
        in agent: isolated SessionAgent
    ) {
        pending.remove(name)
        guard !agent.fleet.takes(number, snapshot, of: name, in: agent) else { return }
        let snapshot = agent.fleet.marked(snapshot, of: name)
        storeThread.run { store in
            store.commit(name, snapshot)
        } then: { outcome in
            agent.apply(name) { session, moment in session.commitFinished(number, outcome, at: moment) }
        }
    }

    /// Removes the session's files, and retries until it works: a logout must survive a restart.
    func remove(_ name: SessionName, in agent: isolated SessionAgent) {
        // Keep the record of a departed session: it is the only sign that it left.
        guard !agent.fleet.hasLeft(name), !agent.fleet.keepPlace(of: name, in: agent) else { return }
        pending.insert(name)
        remove(name, failures: 0, in: agent)
    }

    private func remove(_ name: SessionName, failures: Int, in agent: isolated SessionAgent) {
        storeThread.attempt { store throws(StorageFailure) in
            try store.forget(name)
        } then: { [self] failure in
            guard let failure else {
                pending.remove(name)
                return
            }
            agent.journal.write(
                .error,
                "cannot remove the session's files",
                name,
                ["error": "\(failure.message)"]
            )
            removeLater(name, failures: failures + 1, in: agent)
        }
    }

    private func removeLater(_ name: SessionName, failures: Int, in agent: isolated SessionAgent) {
        let seconds = Int64(min(60, 5 << min(failures - 1, 4)))
        agent.eventLoop.scheduleTask(in: .seconds(seconds)) { [weak agent] in
            agent?.assumeIsolated { agent in
                guard agent.records.isPending(name), agent.isServing else { return }
                agent.records.remove(name, failures: failures, in: agent)
            }
        }
    }

    private func isPending(_ name: SessionName) -> Bool { pending.contains(name) }

    /// Stops removing the files of `name`, which has left the configuration, or of all sessions if `name` is
    /// `nil`.
    ///
    /// Files that are still on disk are loaded if the session returns.
    func dropPending(of name: SessionName? = nil) {
        if let name { pending.remove(name) } else { pending = [] }
    }
}
