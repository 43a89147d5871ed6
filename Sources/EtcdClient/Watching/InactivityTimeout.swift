// SPDX-License-Identifier: MIT

import Synchronization

/// Ends work that has heard nothing for too long.
final class InactivityTimeout: Sendable {
    private let limit: Duration
    /// When it has been silent for too long; `nil`: the work is busy with what it has heard.
    private let end: Mutex<ContinuousClock.Instant?>
    private let rung = Atomic(false)

    init(_ limit: Duration) {
        self.limit = limit
        end = Mutex(.now + limit)
    }

    /// It has been silent for too long.
    var hasRung: Bool { rung.load(ordering: .acquiring) }

    /// Something has come.
    func heard() {
        end.withLock { $0 = .now + limit }
    }

    /// Runs `body`, during which nothing is expected.
    func resting(_ body: () async -> Void) async {
        end.withLock { $0 = nil }
        await body()
        heard()
    }

    /// Runs `work`, and cancels it when it has been silent for too long, or the caller's task is cancelled.
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
