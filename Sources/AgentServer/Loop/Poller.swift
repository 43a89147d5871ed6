// SPDX-License-Identifier: MIT

import CPolling
import Glibc

/// What a descriptor is ready for.
struct Readiness: OptionSet {
    let rawValue: UInt32

    /// There is something to read, or nothing more will come.
    static let readable = Readiness(rawValue: EPOLLIN.rawValue)
    /// There is room to write.
    static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
    /// The other end is closed altogether, or the descriptor is of no use any more; told without being asked for.
    static let gone = Readiness(rawValue: EPOLLHUP.rawValue | EPOLLERR.rawValue)
}

/// The kernel does not let descriptors be watched, for want of descriptors or memory.
package struct PollFailure: Error, Equatable, CustomStringConvertible {
    let code: CInt

    package var description: String {
        unsafe "descriptors cannot be watched: \(String(cString: strerror(code)))"
    }
}

/// Waits until any of many descriptors is ready, or until another thread ends the wait (epoll(7), eventfd(2)).
///
/// A descriptor that stays ready is reported again at each wait. ``wake()`` may be called from any thread.
@safe
struct Poller: ~Copyable, @unchecked Sendable {
    // Unchecked: the reports are for the one thread that waits.
    /// Stands for the wake-up.
    private static let wakeKey = UInt64.max

    private let poll: CInt
    private let wakeUp: CInt
    private let events: UnsafeMutableBufferPointer<epoll_event>

    init() throws(PollFailure) {
        let poll = epoll_create1(CInt(EPOLL_CLOEXEC))
        guard poll >= 0 else { throw PollFailure(code: errno) }
        let wakeUp = eventfd(0, CInt(EFD_CLOEXEC) | CInt(EFD_NONBLOCK))
        var event = unsafe epoll_event()
        // Edges alone: what is written is never read.
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

    /// Watches `descriptor` until it is closed, by all who have it; `key` is what ``report(_:)`` calls it.
    func add(_ descriptor: CInt, for readiness: Readiness, key: UInt64) throws(PollFailure) {
        guard control(EPOLL_CTL_ADD, descriptor, readiness, key) == 0 else { throw PollFailure(code: errno) }
    }

    /// Watches `descriptor` no more; needed if another process has it too, as closing it is not enough then.
    func remove(_ descriptor: CInt) {
        _ = control(EPOLL_CTL_DEL, descriptor, [], 0)
    }

    /// Watches `descriptor`, which has been added, for something else.
    func change(_ descriptor: CInt, to readiness: Readiness, key: UInt64) {
        _ = control(EPOLL_CTL_MOD, descriptor, readiness, key)
    }

    /// Waits at most `milliseconds`, or without limit if that is negative.
    /// - Returns: how many descriptors are ready, which ``report(_:)`` names.
    func wait(milliseconds: CInt) -> Int {
        max(0, Int(unsafe epoll_wait(poll, events.baseAddress, CInt(events.count), milliseconds)))
    }

    /// One of the descriptors that the last wait found; `nil` for the wake-up.
    func report(_ index: Int) -> (key: UInt64, readiness: Readiness)? {
        let event = unsafe events[index]
        let key = unsafe event.data.u64
        return key == Self.wakeKey ? nil : (key, Readiness(rawValue: unsafe event.events))
    }

    /// Ends the wait, or the next one if nobody waits.
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
