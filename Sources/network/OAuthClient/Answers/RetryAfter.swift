// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The `Retry-After` header (RFC 9110 §10.2.3).
enum RetryAfter {
    static let shortest: Duration = .seconds(1)
    static let longest: Duration = .seconds(3_600)

    /// Returns the delay in `value`, clamped to between 1 s and 1 h.
    ///
    /// - Parameters:
    ///   - value: A number of seconds or an HTTP date.
    ///   - now: The current time.
    /// - Returns: The delay, or `nil` if `value` has another format.
    static func read(_ value: String, at now: WallTime) -> Duration? {
        // No date and no sensible number is longer.
        guard value.utf8.count <= HTTPDate.longest else { return nil }
        let digits = value.utf8.filter { $0 != 0x20 && $0 != 0x09 }
        if !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit) {
            guard digits.count <= 9, let seconds = Int64(String(decoding: digits, as: UTF8.self)) else {
                return longest
            }
            return clamped(.seconds(seconds))
        }
        return HTTPDate.read(value).map { clamped(WallTime(secondsSince1970: $0) - now) }
    }

    private static func clamped(_ duration: Duration) -> Duration {
        min(max(duration, shortest), longest)
    }
}
