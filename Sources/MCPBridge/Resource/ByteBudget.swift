// SPDX-License-Identifier: MIT

import Synchronization

/// The limit on bytes of messages held at a time: in all that are being received, and in one of them.
final class ByteBudget: Sendable {
    /// Most bytes of one message.
    let message: Int
    private let left: Mutex<Int>

    init(message: Int) {
        self.message = message
        left = Mutex(BridgeLimits.heldMessages * message)
    }

    fileprivate func take(_ bytes: Int) -> Bool {
        left.withLock { left in
            guard bytes <= left else { return false }
            left -= bytes
            return true
        }
    }

    /// What one receiver holds of it, given back with its last use.
    struct Share: ~Copyable {
        private let budget: ByteBudget
        private var held = 0

        init(of budget: ByteBudget) {
            self.budget = budget
        }

        deinit { _ = budget.take(-held) }

        /// Holds `bytes` from now on, in place of what it held.
        ///
        /// - Throws: ``RPCFailure`` if there is not as much left.
        mutating func hold(_ bytes: Int) throws(RPCFailure) {
            guard budget.take(bytes - held) else {
                throw RPCFailure(.failed, "too many large messages of the server come at once")
            }
            held = bytes
        }
    }
}
