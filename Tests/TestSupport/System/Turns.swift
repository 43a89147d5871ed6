// SPDX-License-Identifier: MIT

/// Limits how many do something at the same time; who waits is let in in the order of coming.
package actor Turns {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    package init(_ count: Int) {
        free = count
    }

    /// Does `body` when it is its turn.
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
