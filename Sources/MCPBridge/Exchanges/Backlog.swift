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
    private var taker: CheckedContinuation<Void, Never>?
    private var giver: CheckedContinuation<Void, Never>?

    /// Adds an entry, once there is room for it: ``BridgeLimits/message`` bytes, or one entry of any size.
    func add(_ entry: Entry) async {
        let size = entry.packet.bytes.count
        while held > 0, held + size > BridgeLimits.message {
            await withCheckedContinuation { giver = $0 }
        }
        entries.append(entry)
        held += size
        wakeTaker()
    }

    /// Nothing more is added.
    func end() {
        hasEnded = true
        wakeTaker()
    }

    /// Takes the oldest entry, once there is one; `nil`: there will be none.
    func next() async -> Entry? {
        while entries.isEmpty, !hasEnded {
            await withCheckedContinuation { taker = $0 }
        }
        guard let entry = entries.popFirst() else { return nil }
        held -= entry.packet.bytes.count
        giver?.resume()
        giver = nil
        return entry
    }

    private func wakeTaker() {
        taker?.resume()
        taker = nil
    }
}
