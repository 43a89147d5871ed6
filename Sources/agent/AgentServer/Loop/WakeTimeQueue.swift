// SPDX-License-Identifier: MIT

import HeapModule

/// Keys with their wake times, in a heap that is corrected lazily.
///
/// A heap element whose key has another time by now is dropped when it reaches the top. So a change costs one
/// insertion, and thousands of keys cost nothing while none is due.
struct WakeTimeQueue<Key: Hashable, Time: Comparable> {
    /// A heap element, compared by its time alone.
    private struct Entry: Comparable {
        var time: Time
        var key: Key

        static func < (left: Entry, right: Entry) -> Bool { left.time < right.time }

        static func == (left: Entry, right: Entry) -> Bool { left.time == right.time }
    }

    private var heap = Heap<Entry>()
    private var plans: [Key: Time] = [:]

    /// The earliest wake time, or `nil` if no key is planned.
    var next: Time? {
        mutating get {
            while let first = heap.min, plans[first.key] != first.time { heap.removeMin() }
            return heap.min?.time
        }
    }

    /// Plans `key` for `time`, or removes its plan if `time` is `nil`.
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

    /// Removes and returns the keys due at `now`, earliest first.
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
