// SPDX-License-Identifier: MIT

import AgentProtocol
import TestSupport
import Testing

@testable import tokenctl_commands

/// The changes that `tokenctl setup` shows before it makes them, and undoes if one of them fails.
struct ChangeSequenceTests {
    private let directory: TemporaryDirectory
    private let program: String

    init() throws {
        directory = try TemporaryDirectory()
        program = try directory.write("", to: "tokenctl", mode: 0o700)
    }

    private func block(session: String, in file: String = "file") -> TextBlock {
        TextBlock(
            file: directory.path(file),
            mark: BlockIdentifier("cargo", "inner", sessions: [session]),
            place: .end,
            lines: ["key = \(session)"],
            ours: ["key = *"]
        )
    }

    private var link: HelperLink { HelperLink(at: directory.path("link"), to: program) }
    private var item: JSONItem { JSONItem(directory.path("json"), in: "credHelpers", "h", "tokenagent") }

    private func ownFile(_ text: String) -> OwnFile {
        OwnFile(path: directory.path("own"), text: text, sign: "tokenctl")
    }

    /// A change that runs `script` and fails.
    private func failure(after script: String = "true") -> ProgramSetting {
        ProgramSetting(set: ["sh", "-c", "\(script); exit 3"], unset: ["true"], get: ["true"], value: "set")
    }

    private func failing(_ changes: [any SetupChange]) -> AgentError? {
        #expect(throws: AgentError.self) { try changes.make() }
    }

    @Test func `what an earlier setup made is put back when a later change fails`() throws {
        try directory.write("a = 1\n", to: "file")
        try block(session: "old").make()
        try ownFile("tokenctl old\n").make()
        try directory.write("{\"x\": 1}\n", to: "json")
        let old = "/nonexistent/bin/tokenctl"
        try File.link(link.path, to: old)
        let before = ["file", "own", "json"].map { File.text(directory.path($0)) }
        let setting = ProgramSetting(
            set: ["touch", directory.path("set")],
            unset: ["rm", directory.path("set")],
            get: ["sh", "-c", "test -e '\(directory.path("set"))' && echo set"],
            value: "set"
        )
        let error = failing(
            [block(session: "new"), ownFile("tokenctl new\n"), item, link, setting, failure()]
        )
        #expect(error?.message == "sh failed with status 3")
        #expect(["file", "own", "json"].map { File.text(directory.path($0)) } == before)
        #expect(File.linkTarget(link.path) == old)
        #expect(directory.names() == ["file", "json", "link", "own", "tokenctl"])
    }

    @Test func `what was not there before is gone again, with the directories made for it`() throws {
        let error = failing([block(session: "new", in: "a/b/file"), item, link, failure()])
        #expect(error != nil && directory.names() == ["tokenctl"])
    }

    @Test func `several changes of one file are all put back`() throws {
        try directory.write("a = 1", to: "file")
        var other = block(session: "new")
        other = TextBlock(
            file: other.file,
            mark: BlockIdentifier("cargo", "outer", sessions: ["new"]),
            place: .end,
            lines: ["key = x"],
            ours: ["key = *"]
        )
        #expect(failing([block(session: "new"), other, failure()]) != nil)
        #expect(File.text(other.file) == "a = 1")
    }

    @Test func `what cannot be put back is told with what failed`() throws {
        let file = try directory.write("a = 1\n", to: "file")
        let error = failing([block(session: "new"), link, failure(after: "echo 'b = 2' >>'\(file)'")])
        let words = "an earlier change remains: cannot change \(file): it was changed just now"
        #expect(error?.message == "sh failed with status 3; \(words)")
        #expect(File.text(file)?.hasSuffix("b = 2\n") == true)
        #expect(directory.names() == ["file", "tokenctl"])
    }

    @Test func `lines of an earlier setup that go are shown, and no others`() throws {
        try directory.write("key = mine\n", to: "file")
        let block = block(session: "new")
        let lines = [block.file + ":", "    key = new"]
        #expect(try block.shownWithReplaced() == lines)
        try self.block(session: "old").make()
        #expect(try block.shownWithReplaced() == [lines[0], "  - key = old", lines[1]])
        try block.make()
        #expect(try block.shownWithReplaced() == lines)
    }

    @Test func `a link and a file of an earlier setup that go are shown`() throws {
        #expect(try link.shownWithReplaced() == link.shown)
        try File.link(link.path, to: "/nonexistent/bin/tokenctl")
        let old = "  - \(link.path) -> /nonexistent/bin/tokenctl"
        #expect(try link.shownWithReplaced() == link.shown + [old])
        try link.make()
        #expect(try link.shownWithReplaced() == link.shown)
        let own = ownFile("tokenctl\nnew\n")
        try ownFile("tokenctl\nold\n").make()
        #expect(try own.shownWithReplaced() == [own.path + ":", "  - old", "    tokenctl", "    new"])
    }

    @Test(arguments: [
        (BlockIdentifier("cargo"), true), (BlockIdentifier("cargo", "inner"), true),
        (BlockIdentifier("cargo", "outer"), false),
        (BlockIdentifier("cargo", sessions: ["work"]), true),
        (BlockIdentifier("cargo", sessions: ["home"]), false),
    ])
    func `lines as ours without our comments are told, with where they are`(
        mark: BlockIdentifier,
        isTold: Bool
    ) throws {
        let file = try directory.write("[a]\nx = 1\n[registries.inner]\nkey = work\nlast = 1\n", to: "file")
        let block = TextBlock(
            file: file,
            mark: mark,
            place: .section("[registries.inner]"),
            lines: ["key = work"],
            ours: ["key = *", "last = *"]
        )
        let told = try block.unmarked()
        #expect(told.count == (isTold ? 1 : 0))
        #expect(
            told.allSatisfy { $0.hasPrefix("\(file):4: ") && $0.hasSuffix(": key = work last = 1") }
        )
        try File.write("[registries.inner]\nlast = 1\nkey = work\n", to: file)
        #expect(try block.unmarked() == [])
    }
}
