// SPDX-License-Identifier: MIT

/// Does work that may bring about more of itself.
///
/// Bytes that are handed on may leave at once, and the news that there is room again comes while they are being handed
/// on. Nobody tells it a second time.
final class ReentrancyGuard {
    private var isRunning = false
    private var hasNews = false

    /// Does `work`, and once more whenever this is called from within it.
    func run(_ work: () -> Void) {
        hasNews = true
        guard !isRunning else { return }
        isRunning = true
        defer { isRunning = false }
        while hasNews {
            hasNews = false
            work()
        }
    }
}
