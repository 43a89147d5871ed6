// SPDX-License-Identifier: MIT

import NIOCore

/// A queue of client messages that have not been sent yet, in their order.
///
/// Messages after an opening wait here for its response. Meanwhile the input is still read, because the
/// client may cancel the opening, or exit. One task adds entries, and one takes them.
actor Backlog {
    struct Entry: Sendable {
        var packet: RPCPacket
        /// The exchange that answers the packet's requests, or `nil` if the packet contains none.
        var number: Int?
    }

    private var entries = CircularBuffer<Entry>()
    /// The number of bytes in all entries.
    private var held = 0
    private var hasEnded = false
    /// Whether the client has exited, so that only few more entries can arrive.
    private var isUnlimited = false
    private let limit: Int
    private var taker: CheckedContinuation<Void, Never>?
    private var giver: CheckedContinuation<Void, Never>?

    /// Creates an empty queue.
    ///
    /// - Parameter limit: the number of bytes at which the queue is full.
    init(limit: Int) {
        self.limit = limit
    }

    /// Adds an entry of any size.
    ///
    /// The producer waits for ``room()`` before it reads more.
    func add(_ entry: Entry) {
        entries.append(entry)
        held += entry.packet.bytes.count
        resumeConsumer()
    }

    /// Whether the producer must wait before it adds more.
    var isFull: Bool { held >= limit && !isUnlimited }

    /// Waits until the queue is not full.
    func room() async {
        while isFull {
            await withCheckedContinuation { giver = $0 }
        }
    }

    /// Removes the limit, because the client has exited and only few more entries can arrive.
    func removeLimit() {
        isUnlimited = true
        resumeProducer()
    }

    /// Marks the end of the input: no more entries are added.
    func end() {
        hasEnded = true
        resumeConsumer()
    }

    /// Waits for the oldest entry and removes it.
    ///
    /// - Returns: the entry, or `nil` after the last one.
    func next() async -> Entry? {
        while entries.isEmpty, !hasEnded {
            await withCheckedContinuation { taker = $0 }
        }
        guard let entry = entries.popFirst() else { return nil }
        held -= entry.packet.bytes.count
        resumeProducer()
        return entry
    }

    private func resumeConsumer() {
        taker?.resume()
        taker = nil
    }

    private func resumeProducer() {
        giver?.resume()
        giver = nil
    }
}
