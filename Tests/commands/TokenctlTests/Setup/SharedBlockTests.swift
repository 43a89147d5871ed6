// SPDX-License-Identifier: MIT

import AgentProtocol
import TestSupport
import Testing

@testable import tokenctl_commands

/// Blocks of `tokenctl setup` that people and other programs have written into, or below.
struct SharedBlockTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private static let header = "[credential \"https://h\"]"

    private func gitBlock(session: String = "work") -> TextBlock {
        TextBlock(
            file: directory.path("file"),
            mark: BlockIdentifier("git", "h", sessions: [session]),
            place: .end,
            lines: [Self.header, "    helper = !/bin/tokenctl --session \(session)"],
            ours: ["helper = !*/tokenctl --session *"],
            keys: ["helper"],
            isRivalSection: { $0 == SectionHeader(Self.header) }
        )
    }

    private func sshBlock(remote: String = "/there") -> TextBlock {
        TextBlock(
            file: directory.path("file"),
            mark: BlockIdentifier("ssh", "far"),
            place: .top,
            lines: ["Host far", "    RemoteForward \(remote) /here", "Match all"],
            ours: ["RemoteForward /* /*"],
            headers: ["Host *", "Match *"],
            closing: "Match all"
        )
    }

    /// Makes the block below `text`, and inserts `line` as the user would, below the last line that contains `anchor`.
    private func share(_ block: TextBlock, in text: String, _ line: String, below anchor: String) throws {
        try directory.write(text, to: "file")
        try block.make()
        var lines = try #require(File.text(block.file)).split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        let index = try #require(lines.lastIndex { $0.contains(anchor) })
        lines.insert(line[...], at: index + 1)
        try File.write(lines.joined(separator: "\n"), to: block.file)
    }

    @Test(arguments: ["helper = !", "[credential", "<<<"])
    func `a line that another program adds to the section stays in it`(anchor: String) throws {
        let block = gitBlock()
        try share(block, in: "[user]\n", "\tusername = bob", below: anchor)
        let shared = File.text(block.file)
        #expect(try block.isMade())
        try block.make()
        #expect(File.text(block.file) == shared)
        #expect(try block.remnant().dropFirst() == ["        helper = !/bin/tokenctl --session work"])
        try block.undo()
        let left = "[user]\n\(Self.header)\n\tusername = bob\n"
        #expect(File.text(block.file) == left)
        #expect(try block.remnant().isEmpty)
        try block.make()
        #expect(try block.isMade())
        try block.undo()
        #expect(File.text(block.file) == left)
    }

    @Test func `a person's lines that look like some of ours stay`() throws {
        let lines = ["helper \"ours\" {", "  args = []", "}"]
        let block = TextBlock(
            file: directory.path("file"),
            mark: BlockIdentifier("terraform"),
            place: .end,
            lines: lines,
            ours: ["helper \"ours\" {", "args = []", "}"],
            keys: ["helper"]
        )
        try share(block, in: "", "host \"h\" {\n}", below: "}")
        #expect(try block.isMade())
        try block.undo()
        #expect(File.text(block.file) == "host \"h\" {\n}\n")
    }

    @Test func `other values replace ours alone`() throws {
        try share(gitBlock(), in: "", "\tusername = bob", below: "helper = !")
        let other = gitBlock(session: "other")
        #expect(try !other.isMade())
        try other.make()
        let text = try #require(File.text(other.file))
        #expect(text.contains("username = bob") && text.contains("--session other"), "\(text)")
        #expect(!text.contains("--session work"), "\(text)")
        try other.undo()
        #expect(File.text(other.file) == "\(Self.header)\n\tusername = bob\n")
    }

    @Test func `a person's value between ours is in the way, and stays`() throws {
        let block = gitBlock()
        try share(block, in: "", "\thelper = store", below: "helper = !")
        let shared = File.text(block.file)
        let error = #expect(throws: AgentError.self) { _ = try block.isMade() }
        #expect(error?.code == .badRequest && error?.message.contains("helper = store") == true)
        #expect(throws: AgentError.self) { try block.make() }
        #expect(File.text(block.file) == shared)
        try block.undo()
        #expect(File.text(block.file) == "\(Self.header)\n\thelper = store\n")
    }

    @Test func `what follows a section without brackets is for all again while the section stays`() throws {
        try share(sshBlock(), in: "Compression yes\n", "    User bob", below: "RemoteForward")
        let left = "Host far\n    User bob\nMatch all\nCompression yes\n"
        let other = sshBlock(remote: "/elsewhere")
        try other.make()
        #expect(File.text(other.file)?.hasSuffix(left) == true)
        try other.undo()
        #expect(File.text(other.file) == left)
    }

    @Test(arguments: [">>>", "<<<"])
    func `the end of a section without brackets goes with it, whichever comment is lost`(lost: String) throws
    {
        try directory.write("Compression yes\n", to: "file")
        try sshBlock().make()
        let lines = try #require(File.text(sshBlock().file)).split(separator: "\n")
        try directory.write(lines.filter { !$0.contains(lost) }.joined(separator: "\n") + "\n", to: "file")
        try sshBlock().undo()
        #expect(File.text(sshBlock().file) == "Compression yes\n")
    }

    @Test func `what a person wrote for all does not come into a section of theirs above`() throws {
        try directory.write("Compression yes\n", to: "file")
        try sshBlock().make()
        let made = try #require(File.text(sshBlock().file))
        try directory.write("Host own\n    User bob\n" + made, to: "file")
        try sshBlock().undo()
        #expect(File.text(sshBlock().file) == "Host own\n    User bob\nMatch all\nCompression yes\n")
        try directory.write(
            "Host own\n    User bob\n" + made.replacing("Compression yes\n", with: ""),
            to: "file"
        )
        try sshBlock().undo()
        #expect(File.text(sshBlock().file) == "Host own\n    User bob\n")
    }

    @Test func `blank lines alone keep no header`() throws {
        try share(gitBlock(), in: "[user]\n", " ", below: "helper = !")
        try gitBlock().undo()
        #expect(File.text(directory.path("file")) == "[user]\n")
    }

    @Test(arguments: [
        ("helper =", "helper =", true), ("helper =", "helper = x", false), ("*", "", true), ("a*", "a", true),
        ("a*/t c *", "a /t x/t c d", true), ("a*/t c *", "a /t cd", false), ("a*b", "a*b b", true),
        ("a*b", "abc", false), ("a*b", "xab", false),
    ])
    func `a pattern says what differs`(pattern: String, line: String, matches: Bool) {
        #expect(LinePattern(stringLiteral: pattern).matches(line) == matches)
    }
}
