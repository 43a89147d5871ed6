// SPDX-License-Identifier: MIT

import Glibc

/// A POSIX thread for work that blocks or runs in parallel (pthreads(7)).
///
/// Join it or detach it, exactly once.
package struct SystemThread: Sendable {
    private let handle: pthread_t

    /// Starts a thread that runs `body` and ends with it.
    ///
    /// - Throws: ``ThreadCreationError`` if the system grants none; `body` is then not run.
    package init(_ body: @escaping @Sendable () -> Void) throws(ThreadCreationError) {
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
            throw ThreadCreationError(code: error)
        }
        self.handle = handle
    }

    /// The value of `pthread_self()` on the thread.
    package var number: UInt { UInt(handle) }

    /// Waits until the thread has ended.
    package func join() {
        pthread_join(handle, nil)
    }

    /// Detaches the thread: it runs on and cannot be joined.
    package func detach() {
        pthread_detach(handle)
    }

    /// A box that carries the body to the new thread.
    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
}

/// The error that the system grants no thread.
package struct ThreadCreationError: Error, Equatable {
    /// The error number of pthread_create(3), usually `EAGAIN`.
    package let code: CInt
}
