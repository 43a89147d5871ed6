// SPDX-License-Identifier: MIT

import CPolling
import Glibc

/// The operations that a descriptor is ready for.
struct Readiness: OptionSet {
    let rawValue: UInt32

    /// Bytes can be read, or the end of the input has been reached.
    static let readable = Readiness(rawValue: EPOLLIN.rawValue)
    /// Bytes can be written.
    static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
    /// The other end is closed completely, or the descriptor has an error; reported even if not requested.
    static let gone = Readiness(rawValue: EPOLLHUP.rawValue | EPOLLERR.rawValue)
}

/// An error of the kernel when descriptors are watched, because descriptors or memory ran out.
package struct PollFailure: Error, Equatable, CustomStringConvertible {
    let code: CInt

    package var description: String {
        unsafe "cannot watch file descriptors: \(String(cString: strerror(code)))"
    }
}

/// A wait for many descriptors that another thread can end (epoll(7), eventfd(2)).
///
/// A descriptor that stays ready is reported again by each wait. ``wake()`` is safe to call from any thread.
@safe
struct Poller: ~Copyable, @unchecked Sendable {
    // Unchecked because only the waiting thread reads the reports.
    /// The key of the wake-up descriptor.
    private static let wakeKey = UInt64.max

    private let poll: CInt
    private let wakeUp: CInt
    private let events: UnsafeMutableBufferPointer<epoll_event>

    init() throws(PollFailure) {
        let poll = epoll_create1(CInt(EPOLL_CLOEXEC))
        guard poll >= 0 else { throw PollFailure(code: errno) }
        let wakeUp = eventfd(0, CInt(EFD_CLOEXEC) | CInt(EFD_NONBLOCK))
        var event = unsafe epoll_event()
        // Edge-triggered, because the counter is never read.
        unsafe event.events = EPOLLIN.rawValue | EPOLLET.rawValue
        unsafe event.data.u64 = Self.wakeKey
        guard wakeUp >= 0, unsafe epoll_ctl(poll, EPOLL_CTL_ADD, wakeUp, &event) == 0 else {
            let code = errno
            if wakeUp >= 0 { close(wakeUp) }
            close(poll)
            throw PollFailure(code: code)
        }
        self.poll = poll
        self.wakeUp = wakeUp
        unsafe events = .allocate(capacity: 128)
        unsafe events.initialize(repeating: unsafe epoll_event())
    }

    deinit {
        unsafe events.deallocate()
        close(wakeUp)
        close(poll)
    }

    /// Watches `descriptor` until all processes have closed it; ``report(_:)`` identifies it by `key`.
    ///
    /// - Throws: ``PollFailure`` if the kernel does not accept it.
    func add(_ descriptor: CInt, for readiness: Readiness, key: UInt64) throws(PollFailure) {
        guard control(EPOLL_CTL_ADD, descriptor, readiness, key) == 0 else { throw PollFailure(code: errno) }
    }

    /// Stops watching `descriptor`; closing it is not enough if another process has it too.
    func remove(_ descriptor: CInt) {
        _ = control(EPOLL_CTL_DEL, descriptor, [], 0)
    }

    /// Changes the operations for which a watched `descriptor` is reported.
    func change(_ descriptor: CInt, to readiness: Readiness, key: UInt64) {
        _ = control(EPOLL_CTL_MOD, descriptor, readiness, key)
    }

    /// Waits for at most `milliseconds`, or without limit if negative.
    ///
    /// - Returns: The number of ready descriptors, for ``report(_:)``.
    func wait(milliseconds: CInt) -> Int {
        max(0, Int(unsafe epoll_wait(poll, events.baseAddress, CInt(events.count), milliseconds)))
    }

    /// Returns a ready descriptor of the last wait, or `nil` if it is the wake-up.
    func report(_ index: Int) -> (key: UInt64, readiness: Readiness)? {
        let event = unsafe events[index]
        let key = unsafe event.data.u64
        return key == Self.wakeKey ? nil : (key, Readiness(rawValue: unsafe event.events))
    }

    /// Ends the current wait, or the next one if no thread waits.
    func wake() {
        _ = eventfd_write(wakeUp, 1)
    }

    private func control(_ operation: CInt, _ descriptor: CInt, _ readiness: Readiness, _ key: UInt64) -> CInt
    {
        var event = unsafe epoll_event()
        unsafe event.events = readiness.rawValue
        unsafe event.data.u64 = key
        return unsafe epoll_ctl(poll, operation, descriptor, &event)
    }
}
