// SPDX-License-Identifier: MIT

/// The cores of one machine, which take work in the order in which it comes.
struct ProcessorPool {
    /// When each core is free, in nanoseconds.
    private var freeAt: [Int64]
    /// Processor time that was used, in nanoseconds.
    private(set) var used: Int64 = 0

    init(cores: Int) {
        freeAt = [Int64](repeating: 0, count: cores)
    }

    /// Does work of `cost` nanoseconds that comes at `time`.
    ///
    /// - Returns: when it is done.
    mutating func run(_ cost: Int64, at time: Int64) -> Int64 {
        var core = 0
        for index in freeAt.indices where freeAt[index] < freeAt[core] { core = index }
        let end = max(freeAt[core], time) + cost
        freeAt[core] = end
        used += cost
        return end
    }

    /// How long work that comes at `time` waits.
    func wait(at time: Int64) -> Int64 { max(0, (freeAt.min() ?? time) - time) }

    /// The process ends, and with it what waits.
    mutating func clear() { freeAt = freeAt.map { _ in 0 } }
}
