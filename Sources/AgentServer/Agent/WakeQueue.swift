// SPDX-License-Identifier: MIT

import HeapModule

/// Which key is due next: a heap of wake times that is corrected lazily.
///
/// An entry whose key has another plan by now is dropped when it comes up. So changing a plan costs one
/// insertion, and thousands of keys cost nothing while nothing is due.
struct WakeQueue<Key: Hashable, Time: Comparable> {
    /// Compared by its time alone.
    private struct Entry: Comparable {
        var time: Time
        var key: Key

        static func < (left: Entry, right: Entry) -> Bool { left.time < right.time }

        static func == (left: Entry, right: Entry) -> Bool { left.time == right.time }
    }

    private var heap = Heap<Entry>()
    private var plans: [Key: Time] = [:]

    /// When the first key is due.
    var next: Time? {
        mutating get {
            while let first = heap.min, plans[first.key] != first.time { heap.removeMin() }
            return heap.min?.time
        }
    }

    /// Plans `key` for `time`, or not at all.
    mutating func plan(_ key: Key, at time: Time?) {
        guard plans[key] != time else { return }
        plans[key] = time
        guard let time else { return }
        if heap.count > 64 + 4 * plans.count {
            heap = Heap(plans.map { Entry(time: $0.value, key: $0.key) })
        } else {
            heap.insert(Entry(time: time, key: key))
        }
    }

    /// Takes out the keys due at `now`, soonest first.
    mutating func takeDue(at now: Time) -> [Key] {
        var due: [Key] = []
        while let time = next, time <= now {
            let key = heap.removeMin().key
            plans[key] = nil
            due.append(key)
        }
        return due
    }

    mutating func removeAll() {
        heap = Heap()
        plans = [:]
    }
}
