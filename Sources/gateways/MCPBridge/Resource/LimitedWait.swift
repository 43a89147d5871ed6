// SPDX-License-Identifier: MIT

/// A wait that ends when its time is over.
enum LimitedWait {
    /// Waits for `work`, but at most for `limit`.
    ///
    /// Then `work` is cancelled and not awaited.
    static func wait(for limit: Duration, _ work: @escaping @Sendable () async -> Void) async {
        let (end, mark) = AsyncStream.makeStream(of: Void.self)
        let job = Task {
            await work()
            mark.finish()
        }
        let alarm = Task {
            try? await Task.sleep(for: limit)
            mark.finish()
        }
        for await _ in end {}
        job.cancel()
        alarm.cancel()
    }
}
