// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import SealedStore
import Synchronization

/// The schedule of ``SessionStore/maintain()``, which runs when the store requires it and never otherwise.
final class StoreMaintenanceSchedule: Sendable {
    let counter: RollbackCounterUpdater
    private let store: SessionStore
    private let eventLoop: any EventLoop
    private let pool: NIOThreadPool
    private let isPlanned = Mutex(false)

    init(store: SessionStore, counter: RollbackCounterUpdater, eventLoop: any EventLoop, pool: NIOThreadPool)
    {
        self.counter = counter
        self.store = store
        self.eventLoop = eventLoop
        self.pool = pool
    }

    /// Schedules the maintenance that the store requires.
    ///
    /// Call it after the store has changed, and not on an event loop, as it may block.
    func plan() {
        counter.planStep()
        guard let delay = store.maintenanceDelay else { return }
        let isNew = isPlanned.withLock { isPlanned in
            defer { isPlanned = true }
            return !isPlanned
        }
        guard isNew else { return }
        eventLoop.scheduleTask(in: .nanoseconds(delay.nanoseconds)) { [self] in
            pool.submit { [self] state in
                isPlanned.withLock { $0 = false }
                guard state == .active else { return }
                store.maintain()
                plan()
            }
        }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
