// SPDX-License-Identifier: MIT

/// Dates of HTTP headers, in the format of today and the two obsolete ones (RFC 9110 §5.6.7).
package enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The maximum size in bytes that is parsed; a date has 29.
    package static let longest = 64

    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`
    /// into seconds since 1970, or returns `nil` if it is not such a date.
    package static func read(_ text: String) -> Int64? {
        // Only ASCII from here on, so text is compared as bytes.
        guard text.utf8.count <= longest, text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        let words = text.split(separator: " ")
        let hasComma = words.first?.hasSuffix(",") == true
        switch (words.count, hasComma) {
        case (6, true) where words[5] == "GMT": return seconds(words[1], words[2], words[3], words[4])
        case (4, true) where words[3] == "GMT":
            let parts = words[1].split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 3, parts[2].utf8.count == 2, let year = number(parts[2], in: 0...99) else {
                return nil
            }
            return seconds(parts[0], parts[1], "\(year < 70 ? 2_000 + year : 1_900 + year)", words[2])
        case (5, false): return seconds(words[2], words[1], words[4], words[3])
        default: return nil
        }
    }

    private static func seconds(
        _ day: Substring,
        _ month: Substring,
        _ year: Substring,
        _ time: Substring
    ) -> Int64? {
        guard let day = number(day, in: 1...31), let month = months.firstIndex(of: String(month)),
            let year = number(year, in: 1_970...9_999)
        else { return nil }
        let clock = time.split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3, let hour = number(clock[0], in: 0...23),
            let minute = number(clock[1], in: 0...59), let second = number(clock[2], in: 0...60)
        else { return nil }
        let days = daysSince1970(year: year, month: Int64(month) + 1, day: day)
        return ((days * 24 + hour) * 60 + minute) * 60 + second
    }

    private static func number(_ text: Substring, in range: ClosedRange<Int64>) -> Int64? {
        guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit),
            let value = Int64(text),
            range.contains(value)
        else { return nil }
        return value
    }

    /// Returns the days from 1970-01-01 to a date in the proleptic Gregorian calendar.
    ///
    /// The calculation begins years in March, so that the leap day is a year's last.
    package static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let marchMonth = (month + 9) % 12
        let leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
        return marchYear * 365 + leapDays + (153 * marchMonth + 2) / 5 + day - 719_469
    }

    /// Returns the date of a day, the inverse of ``daysSince1970(year:month:day:)``.
    ///
    /// Days before 1970 are not supported.
    package static func civilDate(daysSince1970: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let days = daysSince1970 + 719_468
        let era = days / 146_097
        let dayOfEra = days % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        let month = (marchMonth + 2) % 12 + 1
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, day)
    }
}
