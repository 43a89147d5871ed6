// SPDX-License-Identifier: MIT

import Text

/// The text of a number, a date, a time or a boolean.
struct TOMLScalarText {
    private let text: ArraySlice<UInt8>

    init(_ text: ArraySlice<UInt8>) {
        self.text = text
    }

    /// The value, or `nil` if the text is not one.
    var content: TOMLValue.Content? {
        if text.elementsEqual("true".utf8) { return .boolean(true) }
        if text.elementsEqual("false".utf8) { return .boolean(false) }
        if isDateTime { return .dateTime(String(decoding: text, as: UTF8.self)) }
        if let integer { return .integer(integer) }
        return float.map { .float($0) }
    }
}

// MARK: Numbers

extension TOMLScalarText {
    /// The integer: decimal with an optional sign, or hexadecimal, octal or binary without one (TOML 1.0,
    /// Integer).
    private var integer: Int64? {
        if text.first == UInt8(ascii: "0"), let letter = text.dropFirst().first {
            let radixes: [UInt8: Int] = [
                UInt8(ascii: "x"): 16, UInt8(ascii: "o"): 8, UInt8(ascii: "b"): 2,
            ]
            guard let radix = radixes[letter] else { return nil }
            return Self.digits(text.dropFirst(2), radix: radix).flatMap { Int64($0, radix: radix) }
        }
        return Self.decimal(text).flatMap { Int64($0) }
    }

    /// The number with a fraction, an exponent or both, or `inf` or `nan` (TOML 1.0, Float).
    private var float: Double? {
        let unsigned = text.dropFirst(Self.sign(text).count)
        if unsigned.elementsEqual("inf".utf8) {
            return text.first == UInt8(ascii: "-") ? -.infinity : .infinity
        }
        if unsigned.elementsEqual("nan".utf8) { return .nan }
        let (mantissa, exponent) = Self.halves(text) { $0 | 0x20 == UInt8(ascii: "e") }
        let (whole, fraction) = Self.halves(mantissa) { $0 == UInt8(ascii: ".") }
        guard fraction != nil || exponent != nil, var number = Self.decimal(whole) else { return nil }
        if let fraction {
            guard let digits = Self.digits(fraction, radix: 10) else { return nil }
            number += "." + digits
        }
        if let exponent {
            let sign = Self.sign(exponent)
            guard let digits = Self.digits(exponent.dropFirst(sign.count), radix: 10) else { return nil }
            number += "e" + String(decoding: sign, as: UTF8.self) + digits
        }
        return Double(number)
    }

    /// Splits `text` at the first byte that `isSeparator`.
    ///
    /// - Returns: the parts before and after the separator, or all of `text` and `nil` if there is none.
    private static func halves(
        _ text: ArraySlice<UInt8>,
        at isSeparator: (UInt8) -> Bool
    ) -> (ArraySlice<UInt8>, ArraySlice<UInt8>?) {
        guard let separator = text.firstIndex(where: isSeparator) else { return (text, nil) }
        return (text[..<separator], text[(separator + 1)...])
    }

    /// Returns a decimal integer without underscores, or `nil` if it is invalid or has a leading zero.
    private static func decimal(_ text: ArraySlice<UInt8>) -> String? {
        let sign = sign(text)
        let rest = text.dropFirst(sign.count)
        guard rest.count == 1 || rest.first != UInt8(ascii: "0"), let digits = digits(rest, radix: 10) else {
            return nil
        }
        return String(decoding: sign, as: UTF8.self) + digits
    }

    /// Returns the digits without underscores, or `nil` if an underscore is not between two digits.
    private static func digits(_ text: ArraySlice<UInt8>, radix: Int) -> String? {
        let groups = text.split(separator: UInt8(ascii: "_"), omittingEmptySubsequences: false)
        let areDigits = groups.allSatisfy { group in
            !group.isEmpty && group.allSatisfy { $0.hexDigitValue.map { $0 < radix } ?? false }
        }
        return areDigits ? String(decoding: groups.joined(), as: UTF8.self) : nil
    }

    /// Returns the leading `+` or `-`, or nothing.
    private static func sign(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        text.prefix(1).prefix { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
    }
}

// MARK: Dates and times

extension TOMLScalarText {
    /// Whether the text is a date without a time.
    var isDate: Bool { Self.isDate(text) }

    /// Whether the text is a date, a time, or both, with or without an offset from UTC (RFC 3339 §5.6).
    private var isDateTime: Bool {
        guard Self.isDate(text.prefix(10)) else { return Self.isTime(text) }
        let rest = text.dropFirst(10)
        guard let separator = rest.first else { return true }
        return (separator | 0x20 == UInt8(ascii: "t") || separator == UInt8(ascii: " "))
            && Self.isTime(Self.withoutOffset(rest.dropFirst()))
    }

    private static func isDate(_ text: ArraySlice<UInt8>) -> Bool {
        guard let numbers = numbers(text, like: "0000-00-00"), (1...12).contains(numbers[1]) else {
            return false
        }
        let year = numbers[0]
        let isLeapYear = year % 4 == 0 && year % 100 != 0 || year % 400 == 0
        let days = [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return (1...days[numbers[1] - 1]).contains(numbers[2])
    }

    /// Returns whether the text is a time; its seconds may be 60, in a leap second.
    private static func isTime(_ text: ArraySlice<UInt8>) -> Bool {
        guard let numbers = numbers(text.prefix(8), like: "00:00:00") else { return false }
        let fraction = text.dropFirst(8)
        let isFraction =
            fraction.isEmpty
            || fraction.count > 1 && fraction.first == UInt8(ascii: ".")
                && fraction.dropFirst().allSatisfy(\.isASCIIDigit)
        return isFraction && numbers[0] <= 23 && numbers[1] <= 59 && numbers[2] <= 60
    }

    /// Returns the time without a final `Z` or offset such as `+01:00`.
    private static func withoutOffset(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        if let last = text.last, last | 0x20 == UInt8(ascii: "z") { return text.dropLast() }
        let offset = text.suffix(6)
        guard !sign(offset).isEmpty, let numbers = numbers(offset.dropFirst(), like: "00:00"),
            numbers[0] <= 23, numbers[1] <= 59
        else { return text }
        return text.dropLast(6)
    }

    /// Returns the numbers in `text`, or `nil` if it does not have digits where `pattern` has 0 and equal
    /// bytes elsewhere.
    private static func numbers(_ text: ArraySlice<UInt8>, like pattern: StaticString) -> [Int]? {
        let pattern = pattern.description.utf8
        guard text.count == pattern.count,
            zip(text, pattern).allSatisfy({ $1 == UInt8(ascii: "0") ? $0.isASCIIDigit : $0 == $1 })
        else { return nil }
        return text.split { !$0.isASCIIDigit }.compactMap { Int(String(decoding: $0, as: UTF8.self)) }
    }
}
