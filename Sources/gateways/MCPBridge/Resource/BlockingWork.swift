// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOPosix

/// Threads for blocking calls on the agent's socket and on standard input and output.
final class BlockingWork: Sendable {
    private let threads: NIOThreadPool

    init(threads count: Int) {
        threads = NIOThreadPool(numberOfThreads: count)
        threads.start()
    }

    deinit {
        // Not awaited: the threads end after their current work.
        threads.shutdownGracefully { _ in }
    }

    /// Runs `work` on one of the threads.
    ///
    /// - Returns: the result of `work`, or a failure if this task was cancelled before `work` began.
    func result<Value: Sendable>(
        _ work: @escaping @Sendable () throws(AgentError) -> Value
    ) async -> Result<Value, AgentError> {
        do {
            return try await threads.runIfActive { Result<Value, AgentError>(catching: work) }
        } catch {
            return .failure(AgentError(.internal, "the request was cancelled"))
        }
    }
}
