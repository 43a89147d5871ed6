// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import tokenctl_commands

/// Blocks of `tokenctl setup` of which a comment is lost, as git takes it away with a section.
struct LostCommentTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private var file: String { directory.path("file") }

    private func block(_ host: String?, session: String = "work") -> TextBlock {
        let header = "[credential \"https://\(host ?? "")\"]"
        return TextBlock(
            file: file,
            mark: BlockIdentifier("git", host, sessions: host == nil ? [] : [session]),
            place: .end,
            lines: [
                header, "    helper =", "    helper = !/bin/tokenctl git-credential --session \(session)",
            ],
            ours: ["helper =", "helper = !*/tokenctl git-credential --session *"],
            keys: ["helper"],
            isRivalSection: { $0 == SectionHeader(header) }
        )
    }

    /// Makes blocks for these hosts below the user's lines.
    private func make(_ hosts: [String]) throws {
        try directory.write(Self.above, to: "file")
        for host in hosts { try block(host).make() }
    }

    private static let above = "[user]\n\tname = Ann\n"
    /// Lines that look like ours, all but the last.
    private static let below =
        "[credential \"https://p\"]\n\thelper =\n\thelper = store\n[core]\n\teditor = ed\n"

    private func append(_ text: String) throws {
        try File.write(try #require(File.text(file)) + text, to: file)
    }

    private func git(remove section: String) -> Bool {
        Program.succeeds("git config --file '\(file)' --remove-section '\(section)'")
    }

    /// Which of two or three hosts loses its section, and which is taken back afterwards.
    @Test(arguments: [
        (["one", "two"], "one"), (["one", "two"], "two"), (["one", "two", "three"], "two"),
        (["one", "two", "three"], "three"),
    ])
    func `a section that git removes leaves the others to be found`(hosts: [String], gone: String) throws {
        for isAll in [false, true] {
            try make(hosts)
            try append(Self.below)
            #expect(git(remove: "credential.https://\(gone)"))
            for host in hosts where host != gone {
                #expect(try block(host).remnant().contains { $0.contains("--session work") })
            }
            let undone: [String?] = isAll ? [nil] : hosts.filter { $0 != gone }
            for host in undone { try block(host).undo() }
            #expect(File.text(file) == Self.above + Self.below)
            #expect(try block(nil).remnant().isEmpty)
        }
    }

    @Test func `all sections that git removes leave no comment behind`() throws {
        try make(["one", "two"])
        try append(Self.below)
        for host in ["one", "two"] { #expect(git(remove: "credential.https://\(host)")) }
        #expect(try block("two").remnant().count == 2)
        try block("two").undo()
        #expect(File.text(file) == Self.above + Self.below)
    }

    @Test func `a section above that git removes takes the first comment along`() throws {
        try make(["one"])
        #expect(git(remove: "user"))
        let left = try #require(File.text(file))
        #expect(!left.contains(">>>") && left.contains("<<<"), "\(left)")
        try append("\tusername = bob\n")
        try block("one").undo()
        #expect(File.text(file) == "[credential \"https://one\"]\n\tusername = bob\n")
    }

    @Test func `a neighbour of a removed section is set up again as a whole`() throws {
        try make(["one", "two"])
        #expect(git(remove: "credential.https://one"))
        #expect(try !block("two").isMade())
        try block("two", session: "other").make()
        #expect(try block("two", session: "other").isMade())
        let text = try #require(File.text(file))
        #expect(!text.contains("git one") && !text.contains("--session work"), "\(text)")
        try block("two").undo()
        #expect(File.text(file)?.contains("--session other") == true)
        try block(nil).undo()
        #expect(File.text(file) == Self.above)
    }

    @Test(arguments: [["<<< one"], [">>> two"], ["<<< one", ">>> two"]])
    func `comments that a person removes leave each block its own lines`(comments: [String]) throws {
        try make(["one", "two", "three"])
        let lines = try #require(File.text(file)).split(separator: "\n")
        let lost = comments.map { "# \($0.prefix(3)) tokenctl setup git \($0.suffix(3)) work" }
        try File.write(lines.filter { !lost.contains(String($0)) }.joined(separator: "\n") + "\n", to: file)
        try append(Self.below)
        try block("two").undo()
        let left = try #require(File.text(file))
        #expect(left.contains("https://one") && !left.contains("https://two"), "\(left)")
        #expect(left.contains("https://three"), "\(left)")
        try block("one").undo()
        try block("three").undo()
        #expect(File.text(file) == Self.above + Self.below)
    }

    @Test func `a person's lines below a comment that is left are not ours`() throws {
        let theirs = Self.below.replacing("store", with: "!/bin/tokenctl git-credential --session mine")
        try directory.write("# >>> tokenctl setup git one work\n\(theirs)", to: "file")
        try block("one").undo()
        #expect(File.text(file) == theirs)
        try directory.write("\(theirs)# <<< tokenctl setup git one work\n", to: "file")
        try block("one").undo()
        #expect(File.text(file) == theirs)
    }
}
