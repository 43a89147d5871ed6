// SPDX-License-Identifier: MIT

import Glibc
import Threads

/// A counting semaphore, which lets a fixed number of threads through at a time.
@safe
final class CountingGate: @unchecked Sendable {
    // Unchecked: sem_t may be shared between threads, and its address never changes.
    private let semaphore: UnsafeMutablePointer<sem_t>

    init(_ count: Int) {
        unsafe semaphore = .allocate(capacity: 1)
        unsafe semaphore.initialize(to: sem_t())
        unsafe sem_init(semaphore, 0, UInt32(count))
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    func enter() {
        while unsafe sem_wait(semaphore) != 0, errno == EINTR {}
    }

    func leave() {
        unsafe sem_post(semaphore)
    }
}

/// Runs `body` on a separate thread, where it may block for any time.
func startThread(_ body: @escaping @Sendable () -> Void) {
    do throws(ThreadCreationError) {
        try SystemThread(body).detach()
    } catch {
        // No thread can be created: running the body here delays the caller, but the work is done.
        body()
    }
}
