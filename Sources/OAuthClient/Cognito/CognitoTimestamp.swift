// SPDX-License-Identifier: MIT

import TokenCore

/// Times as Cognito signs them.
enum CognitoTimestamp {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// `Sat Nov 7 09:05:03 UTC 2026`, the day without a leading zero.
    static func text(of time: WallTime) -> String {
        let seconds = max(0, time.secondsSince1970)
        let (days, clock) = (seconds / 86_400, seconds % 86_400)
        let date = civilDate(daysSince1970: days)
        let weekday = weekdays[Int(days % 7)]
        let hours = "\(twoDigits(clock / 3600)):\(twoDigits(clock / 60 % 60)):\(twoDigits(clock % 60))"
        return "\(weekday) \(months[date.month]) \(date.day) \(hours) UTC \(date.year)"
    }

    private static func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// Counts from 1 March so that the leap day is a year's last (proleptic Gregorian); `month` from 0.
    private static func civilDate(daysSince1970: Int64) -> (year: Int64, month: Int, day: Int64) {
        let days = daysSince1970 + 719_468
        let era = days / 146_097
        let dayOfEra = days % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        let month = (marchMonth + 2) % 12
        let year = yearOfEra + era * 400 + (month < 2 ? 1 : 0)
        return (year, Int(month), day)
    }
}
