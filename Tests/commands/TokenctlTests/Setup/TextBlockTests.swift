// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import TestSupport
import Testing

@testable import tokenctl_commands

/// Lines that `tokenctl setup` puts into files that people wrote.
struct TextBlockTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func block(
        _ place: TextBlock.InsertionPoint,
        lines: [String] = ["key = ours"],
        mark: BlockIdentifier = BlockIdentifier("pip"),
        keys: [String] = ["key"],
        isTOML: Bool = false
    ) -> TextBlock {
        TextBlock(
            file: directory.path("file"),
            mark: mark,
            place: place,
            lines: lines,
            ours: ["key = *"],
            keys: keys,
            isTOML: isTOML
        )
    }

    private static let unended = "# tokenctl setup: the line above had no end\n"
    private static let ours = "# >>> tokenctl setup pip\nkey = ours\n# <<< tokenctl setup pip\n"

    struct Row: Sendable {
        var text: String
        var place: TextBlock.InsertionPoint
        var result: String
    }

    static let rows = [
        Row(text: "", place: .end, result: ours),
        Row(text: "a = 1\n", place: .end, result: "a = 1\n" + ours),
        Row(text: "a = 1\n[t]\nkey = 2\n", place: .top, result: ours + "a = 1\n[t]\nkey = 2\n"),
        Row(
            text: "[ global ]\na = 1\n\n[other]\nkey = 2\n",
            place: .section("[global]"),
            result: "[ global ]\n" + ours + "a = 1\n\n[other]\nkey = 2\n"
        ),
        Row(
            text: "[other]\nkey = 2\n",
            place: .section("[global]"),
            result:
                "[other]\nkey = 2\n# >>> tokenctl setup pip\n[global]\nkey = ours\n# <<< tokenctl setup pip\n"
        ),
        Row(
            text: "[ \"global\" ] # mine\n[profile 'global']\n",
            place: .section("[profile global]"),
            result: "[ \"global\" ] # mine\n[profile 'global']\n" + ours
        ),
        Row(
            text: "[profile default]\n",
            place: .section("[default]", synonym: "[profile default]"),
            result: "[profile default]\n" + ours
        ),
        Row(text: "a = 1", place: .end, result: "a = 1\n" + unended + ours),
        Row(text: "a = 1\r\n\r\n", place: .end, result: "a = 1\r\n\r\n" + ours),
        Row(text: "a = 1", place: .top, result: ours + "a = 1"),
        Row(text: "[global]", place: .section("[global]"), result: "[global]\n" + unended + ours),
        Row(text: "[global]\na = 1", place: .section("[global]"), result: "[global]\n" + ours + "a = 1"),
    ]

    @Test(.holds("243"), arguments: rows)
    func `they are put where they belong, once, and taken back without a trace`(row: Row) throws {
        if !row.text.isEmpty { try directory.write(row.text, to: "file", mode: 0o640) }
        let block = block(row.place)
        #expect(try !block.isMade())
        try block.make()
        #expect(File.text(block.file) == row.result)
        #expect(File.mode(block.file) == (row.text.isEmpty ? 0o1600 : 0o640))
        #expect(try block.isMade())
        try block.make()
        #expect(File.text(block.file) == row.result)
        #expect(try block.remnant().suffix(1) == ["    key = ours"])
        try block.undo()
        #expect(File.text(block.file) == (row.text.isEmpty ? nil : row.text))
        #expect(try block.remnant().isEmpty)
        #expect(directory.names().filter { $0 != "file" } == [])
    }

    @Test(arguments: [
        ("key = 1\n", TextBlock.InsertionPoint.top), ("  Key=1\n", .end),
        ("[global]\nkey : 1\n", .section("[global]")),
        ("[profile \"role\"]\nkey = 1\n", .section("[profile role]")),
        ("[profile role]\n[profile 'role']\nkey = 1\n[other]\n", .section("[profile role]")),
    ])
    func `a line that a person wrote is in the way, and stays`(
        text: String,
        place: TextBlock.InsertionPoint
    ) throws {
        try directory.write(text, to: "file")
        let error = #expect(throws: AgentError.self) { _ = try block(place).isMade() }
        #expect(
            error?.code == .badRequest && error?.message.contains("already has a conflicting line") == true
        )
        #expect(throws: AgentError.self) { try block(place).make() }
        #expect(File.text(directory.path("file")) == text)
    }

    @Test func `what is no text file of this user is in the way`() throws {
        let file = directory.path("file")
        #expect(symlink(directory.path("nowhere"), file) == 0)
        let dangling = #expect(throws: AgentError.self) { _ = try block(.end).isMade() }
        #expect(dangling?.code == .badRequest && dangling?.message.contains("link to a missing file") == true)
        unlink(file)
        try directory.makeDirectory("file")
        #expect(throws: AgentError.self) { try block(.end).make() }
    }

    @Test func `a line of a section that comes first for the program is in the way`() throws {
        try directory.write("[install]\nkey = 1\n", to: "file")
        var block = block(.section("[global]"))
        #expect(try !block.isMade())
        block.isRivalSection = { $0 == SectionHeader("[install]") }
        #expect(throws: AgentError.self) { try block.make() }
        #expect(File.text(block.file) == "[install]\nkey = 1\n")
    }

    @Test(arguments: ["keys = 1\n", "# key = 1\n", "[t]\nkey = 1\n", "my-key = 1\n"])
    func `other lines are not in the way`(text: String) throws {
        try directory.write(text, to: "file")
        #expect(try !block(.top).isMade())
    }

    @Test(
        .holds("243"),
        arguments: [
            "[registries]\ninner = { index = \"x\" }\n", "[registries]\ninner.index = \"x\"\n",
            "registries = { inner = { index = \"x\" } }\n", "[registries.inner]\n\"key\" = \"mine\"\n",
        ]
    )
    func `a TOML file that would have a key twice stays`(text: String) throws {
        let block = block(.section("[registries.inner]"), lines: ["key = \"ours\""], isTOML: true)
        try expect(text, refuses: block, "already has another key, table or string for ")
    }

    @Test func `a TOML file with a mistake stays, but its block is taken back`() throws {
        let block = block(.top, lines: ["key = \"ours\""], isTOML: true)
        try expect(
            "a = 1\na = 2\n",
            refuses: block,
            ":2: not TOML 1.0: duplicate key \"a\" (first on line 1)"
        )
        try directory.write("b = 1\n", to: "file")
        try block.make()
        let made = try #require(File.text(block.file))
        try File.write(made + "b = 2\n", to: block.file)
        #expect(throws: AgentError.self) { _ = try block.isMade() }
        try block.undo()
        #expect(File.text(block.file) == "b = 1\nb = 2\n")
    }

    @Test func `a quoted header of TOML is the same section`() throws {
        try directory.write("[registries.\"inner\"]\nindex = \"x\"\n", to: "file")
        let block = block(.section("[registries.inner]"), lines: ["key = \"ours\""], isTOML: true)
        try block.make()
        #expect(try block.isMade())
        let lines = "# >>> tokenctl setup pip\nkey = \"ours\"\n# <<< tokenctl setup pip\n"
        #expect(File.text(block.file) == "[registries.\"inner\"]\n\(lines)index = \"x\"\n")
    }

    private func expect(_ text: String, refuses block: TextBlock, _ words: String) throws {
        try directory.write(text, to: "file")
        let error = #expect(throws: AgentError.self) { _ = try block.isMade() }
        #expect(error?.code == .badRequest && error?.message.contains(words) == true, "\(error as Any)")
        #expect(throws: AgentError.self) { try block.make() }
        #expect(File.text(block.file) == text)
    }

    @Test(.holds("243"), arguments: [["one", "two"], ["two", "one"]])
    func `a line without an end has none again when the last block is gone`(order: [String]) throws {
        try directory.write("a = 1", to: "file")
        for mark in ["one", "two"] { try block(.end, mark: BlockIdentifier(mark), keys: []).make() }
        for mark in order { try block(.end, mark: BlockIdentifier(mark)).undo() }
        #expect(File.text(directory.path("file")) == "a = 1")
    }

    @Test func `what was written below a block stays on a line of its own`() throws {
        let path = try directory.write("a = 1", to: "file")
        try block(.end).make()
        let made = try #require(File.text(path))
        try File.write(made + "b = 2", to: path)
        try block(.end).undo()
        #expect(File.text(path) == "a = 1\nb = 2")
    }

    @Test func `other values replace ours, and one of several is taken back alone or all together`() throws {
        let one = block(.end, mark: BlockIdentifier("aws", "one"), keys: [])
        let two = block(.end, lines: ["key = two"], mark: BlockIdentifier("aws", "two"), keys: [])
        for block in [one, two] { try block.make() }
        let other = block(.end, lines: ["key = three"], mark: BlockIdentifier("aws", "two"), keys: [])
        #expect(try !other.isMade())
        try other.make()
        let text = try #require(File.text(one.file))
        #expect(text.contains("key = three") && !text.contains("key = two"))
        try one.undo()
        #expect(File.text(one.file)?.contains("aws one") == false)
        try one.make()
        try block(.end, mark: BlockIdentifier("aws")).undo()
        #expect(File.text(one.file) == nil)
    }

    @Test func `a link stays a link, and what is no text file of ours stays as it is`() throws {
        let real = try directory.write("a = 1\n", to: "real", mode: 0o644)
        let path = directory.path("file")
        try #require(link(to: "real", at: path))
        try block(.end).make()
        #expect(File.linkTarget(path) == "real" && File.text(real) == "a = 1\n" + Self.ours)
        #expect(File.mode(real) == 0o644)
        File.remove(path)
        try #require(link(to: "nothing", at: path))
        #expect(throws: AgentError.self) { try block(.end).make() }
        File.remove(path)
        try directory.makeDirectory("file")
        #expect(throws: AgentError.self) { try block(.end).make() }
        #expect(directory.names() == ["file", "real"])
    }

    private func link(to target: String, at path: String) -> Bool {
        Program.succeeds("ln -s '\(target)' '\(path)'")
    }
}
