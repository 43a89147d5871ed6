// SPDX-License-Identifier: MIT

/// A loop around work that may cause more of the same work.
///
/// Written bytes may leave at once, and the event that there is room again then arrives during the write.
/// That event is not repeated, so the loop must remember it.
final class ReentrancyGuard {
    private var isRunning = false
    private var hasNews = false

    /// Runs `work`, and runs it again for each call made from within `work`.
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
