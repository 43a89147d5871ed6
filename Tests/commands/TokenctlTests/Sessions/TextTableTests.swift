// SPDX-License-Identifier: MIT

import CommandCore
import Testing

@testable import tokenctl_commands

@Suite struct TextTableTests {
    private static let header = ["SESSION", "STATE", "NOTE"]
    private static let rows = [
        ["work", "logged out", "login expired (run: tokenctl login work)"], ["home", "ready", ""],
    ]

    @Test func `a table without a terminal has a line for each row`() {
        #expect(
            TextTable.lines(Self.header, Self.rows, fitting: nil) == [
                "SESSION  STATE       NOTE",
                "work     logged out  login expired (run: tokenctl login work)",
                "home     ready",
            ]
        )
    }

    @Test func `the last column is wrapped at words where the terminal is narrow`() {
        #expect(
            TextTable.lines(Self.header, Self.rows, fitting: 40) == [
                "SESSION  STATE       NOTE",
                "work     logged out  login expired (run:",
                "                     tokenctl login",
                "                     work)",
                "home     ready",
            ]
        )
    }

    @Test(arguments: [
        ("", 5, [""]), ("one two", 7, ["one two"]), ("one two", 6, ["one", "two"]),
        ("longer than", 3, ["longer", "than"]), ("a  b", 4, ["a  b"]),
    ])
    func `text is broken at blanks`(text: String, width: Int, lines: [String]) {
        #expect(TerminalText.wrapped(text, to: width) == lines)
    }
}
