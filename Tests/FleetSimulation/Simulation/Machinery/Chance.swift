// SPDX-License-Identifier: MIT

import TestSupport

/// Chance that depends on what it is for and not on when it is drawn, so that two runs differ only in what was changed.
struct Chance {
    let seed: UInt64

    /// In `0..<1`.
    func draw(_ first: Int, _ second: Int, _ third: Int) -> Double {
        Double(number(first, second, third) >> 11) / Double(1 << 53)
    }

    func number(_ first: Int, _ second: Int, _ third: Int) -> UInt64 {
        var state = seed
        for part in [first, second, third] {
            var generator = SeededGenerator(seed: state ^ UInt64(bitPattern: Int64(part)))
            state = generator.next()
        }
        return state
    }
}
