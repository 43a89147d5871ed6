// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// Times with an offset from UTC (RFC 3339 §5.6).
enum ZonedTime {
    /// Parses `2026-11-14T22:13:20.5+01:00`, also with a blank instead of the T, or returns `nil` for a text
    /// without a zone.
    static func read(_ text: String) -> WallTime? {
        var bytes = Array(text.utf8)[...]
        guard bytes.count <= HTTPDate.longest, let year = number(&bytes, 4, in: 1970...9999),
            take(&bytes, "-"), let month = number(&bytes, 2, in: 1...12), take(&bytes, "-"),
            let day = number(&bytes, 2, in: 1...31), take(&bytes, "Tt "),
            let hour = number(&bytes, 2, in: 0...23), take(&bytes, ":"),
            let minute = number(&bytes, 2, in: 0...59), take(&bytes, ":"),
            let second = number(&bytes, 2, in: 0...60)
        else { return nil }
        if take(&bytes, ".") { bytes = bytes.drop(while: \.isASCIIDigit) }
        guard let distance = distance(&bytes), bytes.isEmpty else { return nil }
        let days = HTTPDate.daysSince1970(year: year, month: month, day: day)
        return WallTime(secondsSince1970: ((days * 24 + hour) * 60 + minute) * 60 + second - distance)
    }

    /// Returns `2026-11-14T22:13:20Z`.
    ///
    /// ``read(_:)`` accepts only years with four digits.
    static func text(of time: WallTime) -> String {
        let seconds = max(0, time.secondsSince1970)
        let date = HTTPDate.civilDate(daysSince1970: seconds / 86_400)
        return "\(date.year)-\(twoDigits(date.month))-\(twoDigits(date.day))T\(clock(seconds % 86_400))Z"
    }

    /// Returns `22:13:20` for a number of seconds since midnight.
    static func clock(_ seconds: Int64) -> String {
        "\(twoDigits(seconds / 3600)):\(twoDigits(seconds / 60 % 60)):\(twoDigits(seconds % 60))"
    }

    private static func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// Returns the offset in seconds east of UTC.
    private static func distance(_ bytes: inout ArraySlice<UInt8>) -> Int64? {
        if take(&bytes, "Zz") { return 0 }
        let isWest = bytes.first == UInt8(ascii: "-")
        guard take(&bytes, "+-"), let hours = number(&bytes, 2, in: 0...23) else { return nil }
        _ = take(&bytes, ":")
        guard let minutes = number(&bytes, 2, in: 0...59) else { return nil }
        return (hours * 60 + minutes) * (isWest ? -60 : 60)
    }

    private static func take(_ bytes: inout ArraySlice<UInt8>, _ characters: String) -> Bool {
        guard let first = bytes.first, characters.utf8.contains(first) else { return false }
        bytes.removeFirst()
        return true
    }

    private static func number(
        _ bytes: inout ArraySlice<UInt8>,
        _ digits: Int,
        in range: ClosedRange<Int64>
    ) -> Int64? {
        let text = bytes.prefix(digits)
        guard text.count == digits, text.allSatisfy(\.isASCIIDigit),
            let value = Int64(String(decoding: text, as: UTF8.self)), range.contains(value)
        else { return nil }
        bytes.removeFirst(digits)
        return value
    }
}
