// SPDX-License-Identifier: MIT

/// Durations and instants as text for the user.
package enum DurationPhrase {
    /// Formats a duration with its two largest units: `45s`, `59m 30s`, `2h 5m`, `29d 23h`.
    package static func short(_ seconds: Int64) -> String {
        let units: [(name: String, length: Int64)] = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)]
        let first = units.firstIndex { seconds >= $0.length } ?? units.count - 1
        let whole = "\(seconds / units[first].length)\(units[first].name)"
        guard first + 1 < units.count else { return whole }
        let rest = seconds % units[first].length / units[first + 1].length
        return rest == 0 ? whole : "\(whole) \(rest)\(units[first + 1].name)"
    }

    /// Formats a difference in seconds as `in 5m`, `5m ago` or `now`.
    package static func relative(_ seconds: Int64) -> String {
        if seconds == 0 { return "now" }
        return seconds > 0 ? "in \(short(seconds))" : "\(short(Int64(clamping: seconds.magnitude))) ago"
    }

    /// Formats seconds since 1970 as an instant in UTC (RFC 3339 §5.6).
    ///
    /// Values outside the years 1 to 9999 are clamped.
    package static func rfc3339(_ seconds: Int64) -> String {
        let limited = min(max(seconds, -62_135_596_800), 253_402_300_799)
        let day = Int64((Double(limited) / 86_400).rounded(.down))
        let second = limited - day * 86_400
        let (year, month, date) = civil(day)
        let time = [second / 3600, second / 60 % 60, second % 60].map { padded($0, 2) }.joined(separator: ":")
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(date, 2))T\(time)Z"
    }

    /// Returns the date in the proleptic Gregorian calendar.
    ///
    /// The calculation begins years in March, so that leap days come last.
    private static func civil(_ daysSince1970: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let days = daysSince1970 + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
