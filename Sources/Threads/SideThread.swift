// SPDX-License-Identifier: MIT

import Synchronization

/// A second thread for work that can be halved.
package enum SideThread {
    /// Computes both values at once, `second` on a thread of its own if the system grants one.
    package static func both<Value: Sendable>(
        _ first: () -> Value,
        _ second: @escaping @Sendable () -> Value
    ) -> (Value, Value) {
        let computed = Computed<Value>()
        let thread = try? SystemThread { computed.set(second()) }
        let value = first()
        thread?.join()
        return (value, computed.value ?? second())
    }

    /// Where the thread leaves what it computed.
    private final class Computed<Value: Sendable>: Sendable {
        private let state = Mutex<Value?>(nil)

        var value: Value? { state.withLock { $0 } }

        func set(_ value: Value) {
            state.withLock { $0 = value }
        }
    }
}
