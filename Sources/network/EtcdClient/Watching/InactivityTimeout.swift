// SPDX-License-Identifier: MIT

import Synchronization

/// A timeout that cancels work which has received nothing for too long.
final class InactivityTimeout: Sendable {
    private let limit: Duration
    /// The deadline for new data, or `nil` while the work processes what it has received.
    private let end: Mutex<ContinuousClock.Instant?>
    private let rung = Atomic(false)

    init(_ limit: Duration) {
        self.limit = limit
        end = Mutex(.now + limit)
    }

    /// Whether the timeout has expired.
    var hasRung: Bool { rung.load(ordering: .acquiring) }

    /// Restarts the timeout, because data has arrived.
    func heard() {
        end.withLock { $0 = .now + limit }
    }

    /// Runs `body`, and does not count its time as inactivity.
    func resting(_ body: () async -> Void) async {
        end.withLock { $0 = nil }
        await body()
        heard()
    }

    /// Runs `work`, and cancels it when the timeout expires or the caller's task is cancelled.
    func guarding<Result: Sendable>(
        _ work: @escaping @Sendable (InactivityTimeout) async -> Result
    ) async -> Result {
        let task = Task { await work(self) }
        let watch = Task {
            while !Task.isCancelled {
                let left = (end.withLock(\.self) ?? .now + limit) - .now
                guard left > .zero else {
                    rung.store(true, ordering: .releasing)
                    return task.cancel()
                }
                try? await Task.sleep(for: left)
            }
        }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        watch.cancel()
        return result
    }
}
