// SPDX-License-Identifier: MIT

import CHardening
import Glibc
import NIOCore

/// A monitor of the kernel's routing messages that reports when the network may be back (rtnetlink(7)).
///
/// Requests that could not be sent are then retried at once, without waiting for their backoff. One change of
/// the network causes several messages, about an address and its routes. The first is reported at once, and
/// the others together once more, as only the last may make the network usable.
///
/// Confined to the agent's event loop.
final class NetworkMonitor: ReadinessHandling {
    /// The maximum length in bytes of a message (netlink(7)).
    private static let longest = 8_192

    /// The time within which the messages of one change arrive.
    static let row = TimeAmount.seconds(1)

    private let descriptor: CInt
    private let loop: AgentLoop
    private let onReturn: () -> Void
    /// Whether messages count as part of a change that has been reported.
    private var isInRow = false
    /// Whether such a message has arrived.
    private var hasMore = false

    /// Creates a monitor of `descriptor`, which it closes at the end.
    init(_ descriptor: CInt, on loop: AgentLoop, onReturn: @escaping () -> Void) {
        self.descriptor = descriptor
        self.loop = loop
        self.onReturn = onReturn
    }

    deinit { close(descriptor) }

    /// Starts a monitor on `loop`, which ends with the loop.
    ///
    /// - Returns: `false` if the system denies it.
    static func start(on loop: AgentLoop, onReturn: @escaping () -> Void) -> Bool {
        let descriptor = hardening_watch_routes()
        guard descriptor >= 0 else { return false }
        let watch = NetworkMonitor(descriptor, on: loop, onReturn: onReturn)
        return (try? loop.watch(descriptor, for: .readable, watch)) != nil
    }

    func ready(_ readiness: Readiness) {
        let isNews = unsafe withUnsafeTemporaryAllocation(byteCount: Self.longest, alignment: 8) { bytes in
            guard let start = bytes.baseAddress else { return false }
            let count = unsafe recv(descriptor, start, bytes.count, CInt(MSG_DONTWAIT))
            // The kernel dropped messages (ENOBUFS), so something has changed.
            guard count > 0 else { return count < 0 && errno == ENOBUFS }
            return unsafe hardening_announces_route(start, count) != 0
        }
        if isNews { note() }
    }

    private func note() {
        guard !isInRow else {
            hasMore = true
            return
        }
        isInRow = true
        onReturn()
        loop.assumeIsolated().scheduleTask(in: Self.row) { [weak self] in self?.endRow() }
    }

    private func endRow() {
        isInRow = false
        guard hasMore else { return }
        hasMore = false
        note()
    }

    /// Does nothing: the loop releases this monitor, which then closes its descriptor.
    func loopEnded() {}
}
