// SPDX-License-Identifier: MIT

import Threads

/// What `body` computes, on a thread of its own: for work that keeps a processor busy for seconds.
///
/// Swift's pool has a thread for each processor. Two such tests would take all of a small machine's, and every other test, with
/// its time limits, would stand still until one of them ends.
package func onOwnThread<Value: Sendable>(
    _ body: @escaping @Sendable () -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do throws(NoThread) {
            try SystemThread { continuation.resume(returning: body()) }.detach()
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
