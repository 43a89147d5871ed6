// SPDX-License-Identifier: MIT

import TestSupport

/// A source of random numbers that depend on their purpose and not on the order of draws.
///
/// Two runs therefore differ only in the changed parameters.
struct Chance {
    let seed: UInt64

    /// Returns a number in `0..<1`.
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
