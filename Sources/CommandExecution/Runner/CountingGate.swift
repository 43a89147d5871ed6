// SPDX-License-Identifier: MIT

import Glibc

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
    let box = unsafe Unmanaged.passRetained(ThreadBody(run: body))
    var thread = pthread_t()
    let error = unsafe pthread_create(
        &thread,
        nil,
        { pointer in
            if let pointer = unsafe pointer {
                unsafe Unmanaged<ThreadBody>.fromOpaque(pointer).takeRetainedValue().run()
            }
            return nil
        },
        unsafe box.toOpaque()
    )
    guard error == 0 else {
        // There is no thread to be had: running it here is late, but better than never.
        unsafe box.takeRetainedValue().run()
        return
    }
    pthread_detach(thread)
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}
