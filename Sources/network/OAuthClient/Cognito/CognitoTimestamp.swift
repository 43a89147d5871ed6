// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// Timestamps in the format that Cognito signs.
enum CognitoTimestamp {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Returns `Sat Nov 7 09:05:03 UTC 2026`, with no leading zero for the day.
    static func text(of time: WallTime) -> String {
        let seconds = max(0, time.secondsSince1970)
        let (days, clock) = (seconds / 86_400, seconds % 86_400)
        let date = HTTPDate.civilDate(daysSince1970: days)
        let weekday = weekdays[Int(days % 7)]
        return
            "\(weekday) \(months[Int(date.month) - 1]) \(date.day) \(ZonedTime.clock(clock)) UTC \(date.year)"
    }
}
