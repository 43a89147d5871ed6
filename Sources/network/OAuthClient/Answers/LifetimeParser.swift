// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// Lifetimes in the formats that servers use.
enum LifetimeParser {
    /// The maximum lifetime, ten years.
    ///
    /// No computation with it overflows, and no clock runs that long.
    static let longest: Duration = .seconds(10 * 365 * 86_400)

    /// Reads a number, or a number in a string, as whole seconds.
    ///
    /// A negative number becomes 0, and one beyond ``longest`` becomes ``longest``. Any other value counts as
    /// missing: a token, perhaps with a rotated refresh token next to it, is not discarded for an unreadable
    /// lifetime.
    static func read(_ value: JSONValue?, in unit: LifetimeUnit = .seconds) -> Duration? {
        guard let number = number(value) else { return nil }
        let seconds = number / unit.perSecond
        guard seconds > 0 else { return .zero }
        guard seconds < Double(longest.wholeSeconds) else { return longest }
        return .seconds(Int64(seconds))
    }

    /// Limits `lifetime` to ``longest``, or returns `nil` if it is not positive.
    static func positive(_ lifetime: Duration) -> Duration? {
        lifetime > .zero ? min(lifetime, longest) : nil
    }

    /// Reads a time: seconds or milliseconds since 1970, or a text with its zone (RFC 3339).
    ///
    /// - Returns: The time, or `nil` for a value that may be a lifetime.
    static func time(_ value: JSONValue?) -> WallTime? {
        if let text = value?.string, let time = ZonedTime.read(text) { return time }
        // No lifetime has this many seconds, and every time since September 2001 has at least as many.
        guard let number = number(value), number >= 1e9, number < 1e14 else { return nil }
        return WallTime(secondsSince1970: Int64(number < 1e11 ? number : number / 1_000))
    }

    private static func number(_ value: JSONValue?) -> Double? {
        let number: Double? =
            switch value {
            case .number: value?.double
            case .string(let text): JSONNumber.double(text)
            default: nil
            }
        return number.flatMap { $0.isNaN ? nil : $0 }
    }
}

/// Numbers inside strings.
enum JSONNumber {
    /// Parses `text` as a JSON number, or returns `nil` if it is not one.
    static func double(_ text: String) -> Double? {
        guard let value = try? JSONValue(parsing: text.utf8) else { return nil }
        return value.double
    }
}
