// SPDX-License-Identifier: MIT

import TokenCore

/// Which key is due next: a binary heap of wake times that is corrected lazily.
///
/// An entry whose key has another plan by now is dropped when it comes up, so changing a plan costs one
/// insertion and thousands of keys cost nothing while nothing is due.
struct WakeQueue<Key: Hashable> {
    private struct Entry {
        var time: Instant
        var key: Key
    }

    private var heap: [Entry] = []
    private var plans: [Key: Instant] = [:]

    /// When the first key is due.
    var next: Instant? {
        mutating get {
            dropOutdated()
            return heap.first?.time
        }
    }

    /// Plans `key` for `time`, or not at all.
    mutating func plan(_ key: Key, at time: Instant?) {
        guard plans[key] != time else { return }
        plans[key] = time
        guard let time else { return }
        if heap.count > 64 + 4 * plans.count { rebuild() }
        push(Entry(time: time, key: key))
    }

    /// Takes out the keys due at `now`, soonest first.
    mutating func takeDue(at now: Instant) -> [Key] {
        var due: [Key] = []
        while let time = next, time <= now {
            let key = heap[0].key
            removeFirst()
            plans[key] = nil
            due.append(key)
        }
        return due
    }

    mutating func removeAll() {
        heap.removeAll()
        plans.removeAll()
    }

    private mutating func dropOutdated() {
        while let first = heap.first, plans[first.key] != first.time { removeFirst() }
    }

    private mutating func rebuild() {
        heap.removeAll(keepingCapacity: true)
        for (key, time) in plans { push(Entry(time: time, key: key)) }
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
