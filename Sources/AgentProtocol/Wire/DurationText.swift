// SPDX-License-Identifier: MIT

/// The durations in the configuration and on the command line.
///
/// A duration is one or more whole numbers, each followed by a unit, largest unit first, each unit once,
/// without spaces: `"90s"`, `"5m"`, `"1h30m"`, `"30d"`. Units are `w`, `d`, `h`, `m`, `s` and `ms`.
public enum DurationText {
    /// The maximum duration: 100 years of 365 days.
    public static let longest = Duration.seconds(100 * 365 * 86_400)

    /// Parses `text` as a duration up to ``longest``.
    ///
    /// - Parameters:
    ///   - text: An ASCII text such as `"1h30m"`.
    ///   - allowingBareSeconds: Whether a number without a unit is accepted as seconds, as on the command
    ///     line but not in the configuration.
    /// - Returns: The duration, zero or more, or `nil` if `text` is not valid.
    public static func parse(_ text: some StringProtocol, allowingBareSeconds: Bool = false) -> Duration? {
        var rest = Substring(text)
        if allowingBareSeconds, let seconds = takeNumber(&rest), rest.isEmpty {
            return accepted(milliseconds: seconds.multipliedReportingOverflow(by: 1000))
        }
        rest = Substring(text)
        var total: Int64 = 0
        var smallestUnit = Int64.max
        repeat {
            guard let number = takeNumber(&rest), let unit = takeUnit(&rest), unit < smallestUnit else {
                return nil
            }
            let (part, partOverflows) = number.multipliedReportingOverflow(by: unit)
            let (sum, sumOverflows) = total.addingReportingOverflow(part)
            guard !partOverflows, !sumOverflows else { return nil }
            (total, smallestUnit) = (sum, unit)
        } while !rest.isEmpty
        return accepted(milliseconds: (total, false))
    }

    private static func accepted(milliseconds: (partialValue: Int64, overflow: Bool)) -> Duration? {
        guard !milliseconds.overflow else { return nil }
        let duration = Duration.milliseconds(milliseconds.partialValue)
        return duration <= longest ? duration : nil
    }

    /// Consumes decimal digits.
    private static func takeNumber(_ rest: inout Substring) -> Int64? {
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits) else { return nil }
        rest.removeFirst(digits.count)
        return number
    }

    /// Consumes a unit and returns its length in milliseconds.
    private static func takeUnit(_ rest: inout Substring) -> Int64? {
        let name = rest.prefix { $0.isASCII && $0.isLetter }
        rest.removeFirst(name.count)
        switch name {
        case "w": return 7 * 86_400_000
        case "d": return 86_400_000
        case "h": return 3_600_000
        case "m": return 60_000
        case "s": return 1000
        case "ms": return 1
        default: return nil
        }
    }
}
