// SPDX-License-Identifier: MIT

import TokenCore

/// Which session needs attention next: a binary heap of wake times that is corrected lazily.
///
/// An entry whose session has another plan by now is dropped when it comes up, so changing a plan costs one
/// insertion and thousands of sessions cost nothing while nothing is due.
struct WakeQueue {
    private struct Entry {
        var time: Instant
        var name: SessionName
    }

    private var heap: [Entry] = []
    private var plans: [SessionName: Instant] = [:]

    /// When the first session is due.
    var next: Instant? {
        mutating get {
            dropOutdated()
            return heap.first?.time
        }
    }

    /// Plans `name` for `time`, or not at all.
    mutating func plan(_ name: SessionName, at time: Instant?) {
        guard plans[name] != time else { return }
        plans[name] = time
        guard let time else { return }
        if heap.count > 64 + 4 * plans.count { rebuild() }
        push(Entry(time: time, name: name))
    }

    /// Takes out the sessions due at `now`, soonest first.
    mutating func takeDue(at now: Instant) -> [SessionName] {
        var due: [SessionName] = []
        while let time = next, time <= now {
            let name = heap[0].name
            removeFirst()
            plans[name] = nil
            due.append(name)
        }
        return due
    }

    mutating func removeAll() {
        heap.removeAll()
        plans.removeAll()
    }

    private mutating func dropOutdated() {
        while let first = heap.first, plans[first.name] != first.time { removeFirst() }
    }

    private mutating func rebuild() {
        heap.removeAll(keepingCapacity: true)
        for (name, time) in plans { push(Entry(time: time, name: name)) }
    }

    private mutating func push(_ entry: Entry) {
        heap.append(entry)
        var index = heap.count - 1
        while index > 0, heap[(index - 1) / 2].time > heap[index].time {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < heap.count && heap[child].time < heap[least].time {
                least = child
            }
            guard least != index else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
