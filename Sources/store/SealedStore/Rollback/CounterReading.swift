// SPDX-License-Identifier: MIT

/// The response of a monotonic counter, such as one in a TPM.
package enum CounterReading: Equatable, Sendable {
    /// The configuration names no counter.
    case notConfigured
    case value(UInt64)
    /// The counter failed; the reason is a clause for the user.
    case unusable(String)

    /// The maximum value, which leaves room for the next one and fits the integers of the configuration.
    static let largest = UInt64(Int64.max) - 1

    /// Parses the output of a command: one decimal number of at most 19 digits, with blanks and line ends
    /// around it.
    package init(printed: [UInt8]) {
        let text = String(decoding: printed.prefix(64), as: UTF8.self)
        let words = text.split(whereSeparator: \.isWhitespace)
        let isNumber = words.count == 1 && words[0].utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard printed.count <= 64, isNumber, let value = UInt64(words[0]), value <= CounterReading.largest
        else {
            self = .unusable("the command did not print one decimal number")
            return
        }
        self = .value(value)
    }
}

/// The evidence by which unlocking recognizes an old copy of the whole store.
package struct CounterCheckInput: Equatable, Sendable {
    package var reading: CounterReading
    /// The number with which the user accepts, once, a store that is otherwise rejected.
    package var accepted: UInt64?

    package init(reading: CounterReading, accepted: UInt64? = nil) {
        self.reading = reading
        self.accepted = accepted
    }

    /// The evidence of a store without a counter.
    package static let none = CounterCheckInput(reading: .notConfigured)
}
