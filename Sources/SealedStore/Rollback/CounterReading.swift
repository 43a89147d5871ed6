// SPDX-License-Identifier: MIT

/// The answer of a counter that only ever grows, such as one in a TPM.
package enum CounterReading: Equatable, Sendable {
    /// The configuration names no counter.
    case notConfigured
    case value(UInt64)
    /// The reason is a clause for a person.
    case unusable(String)

    /// The largest value: it leaves room for the next one, and fits the integers of the configuration.
    static let largest = UInt64(Int64.max) - 1

    /// Reads what a program printed: one decimal number, at most 19 digits, with blanks and line ends around it.
    package init(printed: [UInt8]) {
        let text = String(decoding: printed.prefix(64), as: UTF8.self)
        let words = text.split(whereSeparator: \.isWhitespace)
        let isNumber = words.count == 1 && words[0].utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard printed.count <= 64, isNumber, let value = UInt64(words[0]), value <= CounterReading.largest
        else {
            self = .unusable("it did not print one decimal number")
            return
        }
        self = .value(value)
    }
}

/// What unlocking uses to recognize an old copy of the whole store.
package struct CounterEvidence: Equatable, Sendable {
    package var reading: CounterReading
    /// The number with which the person allows, once, what is otherwise refused.
    package var accepted: UInt64?

    package init(reading: CounterReading, accepted: UInt64? = nil) {
        self.reading = reading
        self.accepted = accepted
    }

    /// There is no counter.
    package static let none = CounterEvidence(reading: .notConfigured)
}
