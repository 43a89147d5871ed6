// SPDX-License-Identifier: MIT

import Synchronization

/// A limit on the bytes of messages being received, for each message and for all together.
final class ByteBudget: Sendable {
    /// The maximum size of a message, in bytes.
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

    /// The part of the budget that one receiver uses, returned when the share is destroyed.
    struct Share: ~Copyable {
        private let budget: ByteBudget
        private var held = 0

        init(of budget: ByteBudget) {
            self.budget = budget
        }

        deinit { _ = budget.take(-held) }

        /// Sets the number of bytes in use by this share to `bytes`.
        ///
        /// - Throws: ``RPCFailure`` if the budget does not suffice.
        mutating func hold(_ bytes: Int) throws(RPCFailure) {
            guard budget.take(bytes - held) else {
                throw RPCFailure(.failed, "the server sent too many large messages at once")
            }
            held = bytes
        }
    }
}
