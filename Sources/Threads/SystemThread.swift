// SPDX-License-Identifier: MIT

import Glibc

/// A thread of its own, for work that blocks for as long as it likes or is done beside other work; it is joined or
/// detached, once (pthreads(7)).
package struct SystemThread: Sendable {
    private let handle: pthread_t

    /// Starts a thread that runs `body` and ends with it.
    ///
    /// - Throws: ``NoThread`` if the system grants none; `body` is not run then.
    package init(_ body: @escaping @Sendable () -> Void) throws(NoThread) {
        let work = unsafe Unmanaged.passRetained(Work(body))
        var handle = pthread_t()
        let error = unsafe pthread_create(
            &handle,
            nil,
            { work in
                if let work = unsafe work {
                    unsafe Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body()
                }
                return nil
            },
            unsafe work.toOpaque()
        )
        guard error == 0 else {
            unsafe work.release()
            throw NoThread(code: error)
        }
        self.handle = handle
    }

    /// What `pthread_self()` is on the thread.
    package var number: UInt { UInt(handle) }

    /// Waits until the thread has ended.
    package func join() {
        pthread_join(handle, nil)
    }

    /// Leaves the thread to itself.
    package func detach() {
        pthread_detach(handle)
    }

    /// Carries a body to its thread.
    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
}

/// The system grants no thread.
package struct NoThread: Error, Equatable {
    /// As pthread_create(3) returns it: `EAGAIN`, mostly.
    package let code: CInt
}
