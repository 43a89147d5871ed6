// SPDX-License-Identifier: MIT

/// The little of DER (ITU-T X.690) that a certificate needs.
enum DER {
    static func sequence(_ parts: [UInt8]...) -> [UInt8] { element(0x30, parts.flatMap(\.self)) }

    static func set(_ parts: [UInt8]...) -> [UInt8] { element(0x31, parts.flatMap(\.self)) }

    static func boolean(_ value: Bool) -> [UInt8] { element(0x01, [value ? 0xFF : 0]) }

    /// A non-negative big-endian integer.
    static func integer(_ bytes: [UInt8]) -> [UInt8] {
        let needsZero = (bytes.first ?? 0x80) >= 0x80
        return element(0x02, (needsZero ? [0] : []) + bytes)
    }

    static func octets(_ bytes: [UInt8]) -> [UInt8] { element(0x04, bytes) }

    /// Bits whose last byte has `unused` unused ones.
    static func bits(_ bytes: [UInt8], unused: UInt8 = 0) -> [UInt8] { element(0x03, [unused] + bytes) }

    static func text(_ text: String) -> [UInt8] { element(0x0C, Array(text.utf8)) }

    /// An object identifier, its content already encoded.
    static func identifier(_ content: [UInt8]) -> [UInt8] { element(0x06, content) }

    /// `[number]`, constructed or primitive.
    static func tagged(_ number: UInt8, constructed: Bool = true, _ content: [UInt8]) -> [UInt8] {
        element((constructed ? 0xA0 : 0x80) | number, content)
    }

    /// UTCTime (RFC 5280 §4.1.2.5.1); good until 2049.
    static func time(_ secondsSince1970: Int64) -> [UInt8] {
        let (year, month, day) = civilDate(daysSince1970: secondsSince1970 / 86_400)
        let second = secondsSince1970 % 86_400
        let fields = [year % 100, month, day, second / 3600, second / 60 % 60, second % 60]
        let text = fields.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined() + "Z"
        return element(0x17, Array(text.utf8))
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        [tag] + length(content.count) + content
    }

    private static func length(_ count: Int) -> [UInt8] {
        guard count >= 0x80 else { return [UInt8(count)] }
        var bytes: [UInt8] = []
        var rest = count
        while rest > 0 {
            bytes.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return [0x80 | UInt8(bytes.count)] + bytes
    }

    /// The proleptic Gregorian date, by eras of 400 years that begin in March.
    private static func civilDate(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
