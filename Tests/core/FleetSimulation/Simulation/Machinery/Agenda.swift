// SPDX-License-Identifier: MIT

/// A queue of future events in order of time.
///
/// Events at the same time keep the order in which they were added.
struct Agenda {
    private struct Entry {
        var at: Int64
        var order: UInt32
        var event: SimulatedEvent

        func precedes(_ other: Entry) -> Bool { (at, order) < (other.at, other.order) }
    }

    /// A binary heap: each entry precedes the two at twice its index plus one and plus two.
    private var heap: ContiguousArray<Entry> = []
    private var order: UInt32 = 0
    /// The number of events that have happened.
    private(set) var count = 0

    /// Adds `event` at `time`, in nanoseconds.
    mutating func put(_ event: SimulatedEvent, at time: Int64) {
        order &+= 1
        heap.append(Entry(at: time, order: order, event: event))
        rise(heap.count - 1)
    }

    /// Removes the next event before `end`.
    mutating func next(before end: Int64) -> (at: Int64, event: SimulatedEvent)? {
        guard let first = heap.first, first.at < end, let last = heap.popLast() else { return nil }
        if !heap.isEmpty {
            heap[0] = last
            sink(0)
        }
        count += 1
        return (first.at, first.event)
    }

    private mutating func rise(_ start: Int) {
        let entry = heap[start]
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard entry.precedes(heap[parent]) else { break }
            heap[index] = heap[parent]
            index = parent
        }
        heap[index] = entry
    }

    private mutating func sink(_ start: Int) {
        let entry = heap[start]
        var index = start
        while true {
            var child = 2 * index + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1].precedes(heap[child]) { child += 1 }
            guard heap[child].precedes(entry) else { break }
            heap[index] = heap[child]
            index = child
        }
        heap[index] = entry
    }
}

/// A simulated event.
///
/// The numbers are indices.
enum SimulatedEvent {
    /// A session's access token is due for a refresh, unless `stamp` is outdated.
    case due(member: Int32, stamp: UInt32)
    /// A member's wake time is reached.
    case wake(member: Int32)
    /// A member learns, later than others, of a change.
    case change(member: Int32)
    /// An etcd member has processed a call.
    case processed(call: Int32)
    /// A call's change is in the log of most etcd members.
    case logged(call: Int32)
    case replied(call: Int32)
    /// The host abandons a call.
    case expired(call: Int32)
    /// The next host of a fan-out receives its watch response.
    case heard(fanOut: Int32)
    /// A host's disk has stored a record, if `life` is still that of its process.
    case kept(member: Int32, life: UInt32)
    /// The token endpoint has responded.
    case exchanged(member: Int32, life: UInt32)
    /// A host has waited until its deadline, and the response has not arrived.
    case unanswered(member: Int32, life: UInt32)
    case leaseEnded(session: Int32, serial: Int32)
    case reconnect(link: Int32, life: UInt32)
    case fault(Int32)
}
