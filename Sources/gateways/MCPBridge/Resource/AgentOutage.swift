// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Synchronization
import Text

/// A record of the periods in which the agent provides no token.
///
/// Each period ends when a request obtains one.
final class AgentOutage: Sendable {
    private struct State {
        /// The last message about the current period, or `nil` outside of one.
        var told: ByteText?
        var endings = 0
        var waiters: [Int: AsyncStream<Void>.Continuation] = [:]
        var nextWaiter = 0
    }

    private let state = Mutex(State())

    /// The number of periods that have ended.
    var endings: Int { state.withLock(\.endings) }

    /// Records that a request got no token.
    ///
    /// Each message goes to standard error once, as a client may try repeatedly.
    func noTokenCame(_ error: AgentError) {
        let line = FailureReport.line(for: error)
        let isNew = state.withLock { state in
            defer { state.told = line.bytewise }
            return state.told != line.bytewise
        }
        if isNew { StandardError.write("tokenctl: \(line)\n") }
    }

    /// Records that a request obtained a token.
    func tokenObtained() {
        let waiters = state.withLock { state -> [Int: AsyncStream<Void>.Continuation] in
            guard state.told != nil else { return [:] }
            state.told = nil
            state.endings += 1
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.finish() }
    }

    /// Waits until more than `count` periods have ended.
    func ended(after count: Int) async {
        let (end, mark) = AsyncStream.makeStream(of: Void.self)
        let number = state.withLock { state -> Int? in
            guard state.endings <= count else { return nil }
            state.nextWaiter += 1
            state.waiters[state.nextWaiter] = mark
            return state.nextWaiter
        }
        guard let number else { return }
        for await _ in end {}
        state.withLock { $0.waiters[number] = nil }
    }
}
