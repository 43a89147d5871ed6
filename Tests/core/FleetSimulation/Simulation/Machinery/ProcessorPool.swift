// SPDX-License-Identifier: MIT

/// The cores of one machine, which process work in the order of its arrival.
struct ProcessorPool {
    /// The time at which each core is free, in nanoseconds.
    private var freeAt: [Int64]
    /// The processor time used so far, in nanoseconds.
    private(set) var used: Int64 = 0

    init(cores: Int) {
        freeAt = [Int64](repeating: 0, count: cores)
    }

    /// Processes work of `cost` nanoseconds that arrives at `time`.
    ///
    /// - Returns: the time at which the work is done.
    mutating func run(_ cost: Int64, at time: Int64) -> Int64 {
        var core = 0
        for index in freeAt.indices where freeAt[index] < freeAt[core] { core = index }
        let end = max(freeAt[core], time) + cost
        freeAt[core] = end
        used += cost
        return end
    }

    /// Returns the time that work arriving at `time` waits.
    func wait(at time: Int64) -> Int64 { max(0, (freeAt.min() ?? time) - time) }

    /// Discards all waiting work, because the process has ended.
    mutating func clear() { freeAt = freeAt.map { _ in 0 } }
}
