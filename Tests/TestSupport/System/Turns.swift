// SPDX-License-Identifier: MIT

/// A limit on the number of concurrent operations.
///
/// Waiters are admitted in the order of their arrival.
package actor Turns {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    package init(_ count: Int) {
        free = count
    }

    /// Runs `body` as soon as it is admitted.
    nonisolated package func whileHolding<Result: Sendable>(
        _ body: () async throws -> Result
    ) async throws -> Result {
        await take()
        do {
            let result = try await body()
            await give()
            return result
        } catch {
            await give()
            throw error
        }
    }

    private func take() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    private func give() {
        guard waiting.isEmpty else { return waiting.removeFirst().resume() }
        free += 1
    }
}
