// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import tokenctl_commands

/// The marks by which `tokenctl setup` finds its blocks in a file.
struct BlockIdentifierTests {
    /// The texts of two marks, and whether the first names the block of the second.
    @Test(arguments: [
        ("git", "git h work", true), ("git h", "git h work", true), ("git h other", "git h work other", true),
        ("git h other", "git h work", false), ("git i", "git h work", false), ("go", "git h", false),
        ("git h", "git", false), ("pip", "pip", true),
    ])
    func `a mark names the blocks of its client, server and session`(
        mark: String,
        other: String,
        isNamed: Bool
    ) {
        let block = BlockIdentifier(parsing: other[...])
        #expect(BlockIdentifier(parsing: mark[...]).names(block) == isNamed)
        #expect(block.text == other)
    }

    @Test func `blocks are found by server, by session, or all`() throws {
        let directory = try TemporaryDirectory()
        func block(_ name: String?, _ sessions: [String]) -> TextBlock {
            TextBlock(
                file: directory.path("file"),
                mark: BlockIdentifier("bazel", name, sessions: sessions),
                place: .end,
                lines: ["helper=\(name ?? "")"],
                ours: ["helper=*"]
            )
        }
        let all = [("one", "a"), ("two", "b"), ("three", "b")].map { block($0, [$1]) }
        for block in all { try block.make() }
        // Another session for the same server replaces the first.
        try block("one", ["c"]).make()
        let file = directory.path("file")
        #expect(File.text(file)?.contains("bazel one a") == false)
        #expect(try block(nil, ["a"]).remnant().isEmpty)
        try block("two", []).undo()
        try block(nil, ["b"]).undo()
        let left = "# >>> tokenctl setup bazel one c\nhelper=one\n# <<< tokenctl setup bazel one c\n"
        #expect(File.text(file) == left)
        #expect(try all[0].remain(without: [BlockIdentifier("bazel", "two")]))
        #expect(try !all[0].remain(without: [BlockIdentifier("bazel", "one")]))
    }
}
