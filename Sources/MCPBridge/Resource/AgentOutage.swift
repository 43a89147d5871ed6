// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Synchronization
import Text

/// The times in which the agent has no token to give: each lasts until a request gets one.
final class AgentOutage: Sendable {
    private struct State {
        /// What was last said of the present one; `nil`: there is none.
        var told: ByteText?
        var endings = 0
        var waiters: [Int: AsyncStream<Void>.Continuation] = [:]
        var nextWaiter = 0
    }

    private let state = Mutex(State())

    /// How many are over.
    var endings: Int { state.withLock(\.endings) }

    /// A request got no token: said on standard error, once, as a client may ask again and again.
    func noTokenCame(_ error: AgentError) {
        let line = FailureReport.line(for: error)
        let isNew = state.withLock { state in
            defer { state.told = line.bytewise }
            return state.told != line.bytewise
        }
        if isNew { StandardError.write("tokenctl: \(line)\n") }
    }

    /// A request got a token.
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

    /// Returns once more than `count` are over.
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
