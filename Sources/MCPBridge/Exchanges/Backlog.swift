// SPDX-License-Identifier: MIT

import NIOCore

/// What the client has said that is still to be sent, in its order.
///
/// What comes after an opening waits here for its answer. The input is read on meanwhile: the client may give the opening
/// up, or end. One task adds, and one takes.
actor Backlog {
    struct Entry: Sendable {
        var packet: RPCPacket
        /// The exchange that is to answer the packet's requests; `nil`: there are none.
        var number: Int?
    }

    private var entries = CircularBuffer<Entry>()
    /// Bytes of all entries.
    private var held = 0
    private var hasEnded = false
    /// Whether the client has gone, so that what it has said is all that will ever wait here.
    private var isUnlimited = false
    private let limit: Int
    private var taker: CheckedContinuation<Void, Never>?
    private var giver: CheckedContinuation<Void, Never>?

    /// - Parameter limit: bytes of entries with which it is full.
    init(limit: Int) {
        self.limit = limit
    }

    /// Adds an entry, of any size; whoever adds waits for ``room()`` before it takes up more.
    func add(_ entry: Entry) {
        entries.append(entry)
        held += entry.packet.bytes.count
        resumeConsumer()
    }

    /// Whether nothing more is to be taken up now.
    var isFull: Bool { held >= limit && !isUnlimited }

    /// Returns once it is not full.
    func room() async {
        while isFull {
            await withCheckedContinuation { giver = $0 }
        }
    }

    /// What comes now is the last, and few.
    func removeLimit() {
        isUnlimited = true
        resumeProducer()
    }

    /// Nothing more is added.
    func end() {
        hasEnded = true
        resumeConsumer()
    }

    /// Takes the oldest entry, once there is one; `nil`: there will be none.
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
