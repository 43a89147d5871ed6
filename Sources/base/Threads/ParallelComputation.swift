// SPDX-License-Identifier: MIT

import Synchronization

/// A second thread for work that can be split in two.
package enum ParallelComputation {
    /// Computes both values concurrently.
    ///
    /// `second` runs on a new thread, or after `first` on the calling thread if the system grants none.
    package static func both<Value: Sendable>(
        _ first: () -> Value,
        _ second: @escaping @Sendable () -> Value
    ) -> (Value, Value) {
        let computed = SecondResult<Value>()
        let thread = try? SystemThread { computed.set(second()) }
        let value = first()
        thread?.join()
        return (value, computed.value ?? second())
    }

    /// The result of the second thread.
    private final class SecondResult<Value: Sendable>: Sendable {
        private let state = Mutex<Value?>(nil)

        var value: Value? { state.withLock { $0 } }

        func set(_ value: Value) {
            state.withLock { $0 = value }
        }
    }
}
