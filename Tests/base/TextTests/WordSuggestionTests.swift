// SPDX-License-Identifier: MIT

import Testing
import Text

/// Suggestions for mistyped words.
struct WordSuggestionTests {
    private static let words = ["get", "help", "login", "logout", "list", "lock", "status", "setup"]

    @Test(arguments: [
        ("hlep", "help"), ("statsu", "status"), ("logn", "login"), ("setpu", "setup"), ("status", "status"),
        ("logut", "logout"), ("gte", "get"),
    ])
    func `a misspelled word is the nearest one`(text: String, word: String) {
        #expect(WordSuggestion.nearest(to: text, among: Self.words) == word)
    }

    @Test(arguments: ["", "x", "ge", "frobnicate", "lo", String(repeating: "s", count: 10_000)])
    func `what is near to none is none`(text: String) {
        #expect(WordSuggestion.nearest(to: text, among: Self.words) == nil)
    }
}
