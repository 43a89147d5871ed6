// SPDX-License-Identifier: MIT

import Threads

/// Runs `body` on its own thread, for work that keeps a processor busy for seconds.
///
/// Swift's pool has one thread for each processor. Two such tests would occupy all threads of a small
/// machine. All other tests, which have time limits, would stall until one of them ends.
package func onOwnThread<Value: Sendable>(
    _ body: @escaping @Sendable () -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do throws(ThreadCreationError) {
            try SystemThread { continuation.resume(returning: body()) }.detach()
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
