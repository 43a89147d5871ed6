// SPDX-License-Identifier: MIT

/// A histogram of durations, in steps of two per cent from a microsecond on.
struct Histogram {
    private static let steps = 1_400
    private static let ratio = 1.02

    private var counts = [Int](repeating: 0, count: Histogram.steps)
    private(set) var count = 0
    /// The exact maximum, in nanoseconds.
    private(set) var longest: Int64 = 0

    /// The bounds of the steps, in nanoseconds, computed by multiplications alone so that they are the same
    /// everywhere.
    private static let bounds: [Int64] = {
        var bound = 1_000.0
        return (0..<steps).map { _ in
            defer { bound *= ratio }
            return Int64(bound)
        }
    }()

    mutating func add(_ nanoseconds: Int64) {
        var (low, high) = (0, Histogram.steps - 1)
        while low < high {
            let middle = (low + high) / 2
            if Histogram.bounds[middle] < nanoseconds { low = middle + 1 } else { high = middle }
        }
        counts[low] += 1
        count += 1
        longest = max(longest, nanoseconds)
    }

    /// Returns the duration in seconds that a `share` of all do not exceed.
    func quantile(_ share: Double) -> Double {
        let wanted = Int((Double(count) * share).rounded(.up))
        var seen = 0
        for (index, number) in counts.enumerated() {
            seen += number
            if seen >= wanted, number > 0 { return Double(min(Histogram.bounds[index], longest)) / 1e9 }
        }
        return 0
    }

    var maximumSeconds: Double { Double(longest) / 1e9 }
}
