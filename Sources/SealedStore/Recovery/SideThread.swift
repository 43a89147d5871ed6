// SPDX-License-Identifier: MIT

import Glibc
import Synchronization

/// A second thread for work that can be halved.
enum SideThread {
    /// Computes both values at once, `second` on a thread of its own if the system grants one.
    static func both<Value: Sendable>(
        _ first: () -> Value,
        _ second: @escaping @Sendable () -> Value
    ) -> (Value, Value) {
        let computed = Computed<Value>()
        let thread = start { computed.set(second()) }
        let value = first()
        if let thread { pthread_join(thread, nil) }
        return (value, computed.value ?? second())
    }

    /// Starts `work`; `nil`: there is no thread for it.
    private static func start(_ work: @escaping @Sendable () -> Void) -> pthread_t? {
        let job = unsafe Unmanaged.passRetained(Job(work))
        var thread = pthread_t()
        let error = unsafe pthread_create(
            &thread,
            nil,
            { argument in
                if let argument = unsafe argument {
                    unsafe Unmanaged<Job>.fromOpaque(argument).takeRetainedValue().work()
                }
                return nil
            },
            job.toOpaque()
        )
        guard error == 0 else {
            unsafe job.release()
            return nil
        }
        return thread
    }

    private final class Job: Sendable {
        let work: @Sendable () -> Void

        init(_ work: @escaping @Sendable () -> Void) {
            self.work = work
        }
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
