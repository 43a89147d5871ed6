// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOPosix

/// Threads for what blocks: the agent's socket, and standard input and output.
final class BlockingWork: Sendable {
    private let threads: NIOThreadPool

    init(threads count: Int) {
        threads = NIOThreadPool(numberOfThreads: count)
        threads.start()
    }

    deinit {
        // They end with what they are doing; nobody waits for that.
        threads.shutdownGracefully { _ in }
    }

    /// Runs `work` on one of the threads.
    ///
    /// - Returns: what it returns; a failure if this task was cancelled before it began.
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
