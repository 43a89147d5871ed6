// SPDX-License-Identifier: MIT

import Glibc
import Threads

/// Lets a fixed number of threads through at a time; others wait.
@safe
final class CountingGate: @unchecked Sendable {
    // Unchecked: sem_t is made to be shared between threads, and its address never changes.
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

/// Runs `body` on a thread of its own, which may block for as long as it likes.
func startThread(_ body: @escaping @Sendable () -> Void) {
    do throws(NoThread) {
        try SystemThread(body).detach()
    } catch {
        // There is no thread to be had: running it here is late, but better than never.
        body()
    }
}
