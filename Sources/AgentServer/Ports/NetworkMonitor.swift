// SPDX-License-Identifier: MIT

import CHardening
import Glibc
import NIOCore

/// Listens to the kernel's routing messages and says when the network may be back.
///
/// What could not be sent is then tried at once instead of when its backoff ends (rtnetlink(7)). One change of the network
/// is a row of messages, an address and its routes: the first of them is news at once, and the others are once more
/// together, as only the last may make the network usable.
/// Confined to the event loop.
final class NetworkMonitor: DescriptorWatching {
    /// A message is never longer (netlink(7)).
    private static let longest = 8_192

    /// How long the messages of one change may take to come.
    static let row = TimeAmount.seconds(1)

    private let descriptor: CInt
    private let loop: AgentLoop
    private let onReturn: () -> Void
    /// Whether messages are taken for those of a change that was told.
    private var isInRow = false
    /// Whether one of them has come.
    private var hasMore = false

    /// Watches `descriptor`, which it closes in the end.
    init(_ descriptor: CInt, on loop: AgentLoop, onReturn: @escaping () -> Void) {
        self.descriptor = descriptor
        self.loop = loop
        self.onReturn = onReturn
    }

    deinit { close(descriptor) }

    /// Starts on `loop`, until that ends.
    /// - Returns: whether there is such a watch: some systems refuse it.
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
            // The kernel dropped messages (ENOBUFS): something has changed, whatever it was.
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

    /// There is nothing to do: the loop lets go of this, and with it of the descriptor.
    func loopEnded() {}
}
