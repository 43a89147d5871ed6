// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import SealedStore

/// Verdicts on the value in a store, the value of the counter, and the value that the user accepts.
struct CounterVerdictTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var stored: UInt64?
        var reading: CounterReading
        var accepted: UInt64?
        var verdict: CounterVerdict?
        var refusal: StoreError?

        init(
            _ description: String,
            _ stored: UInt64?,
            _ reading: CounterReading,
            accepted: UInt64? = nil,
            _ verdict: CounterVerdict? = nil,
            refusal: StoreError? = nil
        ) {
            testDescription = description
            (self.stored, self.reading, self.accepted) = (stored, reading, accepted)
            (self.verdict, self.refusal) = (verdict, refusal)
        }
    }

    static let broken = CounterReading.unusable("it is broken")
    static let cases = [
        Case("off", nil, .notConfigured, .noCounter),
        Case("off, a number left over", nil, .notConfigured, accepted: 7, .noCounter),
        Case("first use", nil, .value(0), .adopted(0)),
        Case("in step", 7, .value(7), .follows(7)),
        Case("a crash before the counter moved", 8, .value(7), .follows(7)),
        Case("older by one", 6, .value(7), refusal: .olderCopy(stored: 6, counter: 7)),
        Case("much older", 0, .value(.max >> 1), refusal: .olderCopy(stored: 0, counter: .max >> 1)),
        Case("another counter", 9, .value(7), refusal: .otherCounter(stored: 9, counter: 7)),
        Case("reset", 9, .value(0), refusal: .otherCounter(stored: 9, counter: 0)),
        Case("a copy without value", nil, .value(7), refusal: .unknownAge(path: "m", counter: 7)),
        Case("not configured any more", 7, .notConfigured, refusal: .counterNotConfigured(stored: 7)),
        Case("broken", 7, broken, refusal: .counterUnusable(reason: "it is broken")),
        Case("broken at first use", nil, broken, refusal: .counterUnusable(reason: "it is broken")),
        Case(
            "broken, with a number",
            7,
            broken,
            accepted: 7,
            refusal: .counterUnusable(reason: "it is broken")
        ),
        Case("older, accepted", 3, .value(7), accepted: 7, .accepted(7)),
        Case("reset, accepted", 9, .value(0), accepted: 0, .accepted(0)),
        Case("no value, accepted", nil, .value(7), accepted: 7, .accepted(7)),
        Case("in step, a number left over", 7, .value(7), accepted: 7, .follows(7)),
        Case("an old number", 6, .value(8), accepted: 7, refusal: .olderCopy(stored: 6, counter: 8)),
        Case(
            "the store's number is not the counter's",
            6,
            .value(8),
            accepted: 6,
            refusal: .olderCopy(stored: 6, counter: 8)
        ),
        Case("given up", 7, .notConfigured, accepted: 7, .givenUp(7)),
        Case(
            "given up with a wrong number",
            7,
            .notConfigured,
            accepted: 6,
            refusal: .counterNotConfigured(stored: 7)
        ),
    ]

    @Test(.holds("45"), arguments: cases)
    func `a store fits its counter or is refused`(row: Case) {
        let evidence = CounterCheckInput(reading: row.reading, accepted: row.accepted)
        do throws(StoreError) {
            let verdict = try CounterVerdict(stored: row.stored, evidence, path: "m")
            #expect(verdict == row.verdict)
        } catch {
            #expect(error == row.refusal)
        }
    }

    static let printed: [(String, CounterReading?)] = [
        ("0", .value(0)), ("7\n", .value(7)), (" 42 \r\n", .value(42)),
        ("9223372036854775806", .value(9_223_372_036_854_775_806)), ("9223372036854775807", nil),
        ("", nil), ("\n", nil), ("-1", nil), ("+1", nil), ("0x10", nil), ("7 8", nil), ("7.0", nil),
        ("99999999999999999999999", nil), ("٣", nil), ("seven", nil),
        ("7" + String(repeating: " ", count: 80), nil),
    ]

    @Test(arguments: printed)
    func `a counter is one decimal number and nothing else`(text: String, reading: CounterReading?) {
        #expect(
            CounterReading(printed: Array(text.utf8))
                == reading ?? .unusable("the command did not print one decimal number")
        )
    }

    @Test func `every refusal for a counter says what to do`() throws {
        for row in CounterVerdictTests.cases {
            guard let refusal = row.refusal else { continue }
            #expect(refusal.remedy?.text.contains("rollback_counter") == true)
        }
    }
}
