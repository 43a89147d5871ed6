// SPDX-License-Identifier: MIT

/// Gives one task at a time its turn, in the order in which they ask.
///
/// Confined to the agent's event loop.
final class AsyncMutex {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Waits for the caller's turn, which lasts until ``end()``.
    func begin() async {
        guard isTaken else {
            isTaken = true
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    /// Ends the caller's turn.
    func end() {
        guard !waiting.isEmpty else {
            isTaken = false
            return
        }
        waiting.removeFirst().resume()
    }
}
