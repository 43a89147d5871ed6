// SPDX-License-Identifier: MIT

import TokenCore

/// The refresh attempts that wait for one condition, at most one of each session.
///
/// Confined to the agent's event loop.
final class WaitingRefreshAttempts {
    private let work: PendingWork
    private var waiting: [SessionName: (attempt: AttemptNumber, task: CheckedContinuation<Bool, Never>)] = [:]

    init(work: PendingWork) {
        self.work = work
    }

    /// Waits for the next call of `resume` for the attempt.
    ///
    /// Another attempt of the session, which is an older one, ends.
    ///
    /// A lock or a stop of the agent does not wait meanwhile, so the caller must be part of its ``PendingWork``.
    ///
    /// - Parameters:
    ///   - attempt: The attempt.
    ///   - name: Its session.
    ///   - begin: Begins whatever ends in that call, perhaps at once.
    /// - Returns: Whether the attempt continues.
    func wait(_ attempt: AttemptNumber, of name: SessionName, _ begin: () -> Void) async -> Bool {
        await withCheckedContinuation { task in
            end(name)
            waiting[name] = (attempt, task)
            begin()
            work.end()
        }
    }

    /// Lets the attempt continue, or ends it.
    ///
    /// - Returns: `false` if the attempt does not wait.
    @discardableResult
    func resume(_ attempt: AttemptNumber, of name: SessionName, continuing: Bool) -> Bool {
        guard let waiter = waiting[name], waiter.attempt == attempt else { return false }
        waiting[name] = nil
        work.begin()
        waiter.task.resume(returning: continuing)
        return true
    }

    /// Ends the session's attempt, if one waits that is not `current`.
    func end(_ name: SessionName, unless current: AttemptNumber? = nil) {
        guard let attempt = waiting[name]?.attempt, attempt != current else { return }
        resume(attempt, of: name, continuing: false)
    }

    /// Ends all attempts.
    func endAll() {
        for name in waiting.keys { end(name) }
    }
}
