// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import TestSupport
import Testing

@testable import tokenctl_commands

/// Directories that `tokenctl setup` makes for what it writes.
struct OwnDirectoryTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test(.holds("243")) func `those that were made go, up to the first that was there`() throws {
        try directory.makeDirectory("home")
        let path = directory.path("home/a/b")
        try OwnDirectory.make(path)
        #expect(File.mode(path).map { $0 & 0o777 } == 0o700)
        OwnDirectory.remove(path)
        #expect(directory.names() == ["home"])
        #expect(File.names(in: directory.path("home")) == [])
    }

    @Test func `one that has something else in it stays`() throws {
        let path = directory.path("a/b")
        try OwnDirectory.make(path)
        try directory.write("mine", to: "a/file")
        OwnDirectory.remove(path)
        #expect(File.names(in: directory.path("a")) == ["file"])
    }

    @Test func `an empty one that a person made, or opened to others, stays`() throws {
        try directory.makeDirectory("a")
        try OwnDirectory.make(directory.path("a"))
        OwnDirectory.remove(directory.path("a"))
        let path = directory.path("b")
        try OwnDirectory.make(path)
        #expect(chmod(path, 0o1777) == 0)
        OwnDirectory.remove(path)
        #expect(directory.names() == ["a", "b"])
    }

    @Test func `a file and a link take theirs along`() throws {
        let block = TextBlock(
            file: directory.path("config/go/env"),
            mark: BlockIdentifier("go"),
            place: .end,
            lines: ["GOAUTH=x"],
            ours: ["GOAUTH=*"]
        )
        let program = try directory.write("", to: "tokenctl", mode: 0o700)
        let link = HelperLink(at: directory.path("plugins/helper"), to: program)
        for change in [block, link] as [any SetupChange] {
            try change.make()
            #expect(try change.isMade())
            try change.undo()
        }
        #expect(directory.names() == ["tokenctl"])
    }

    @Test func `a link to where tokenctl was before is made anew, and taken back`() throws {
        let program = try directory.write("", to: "tokenctl", mode: 0o700)
        let link = HelperLink(at: directory.path("helper"), to: program)
        for old in ["/nonexistent/bin/tokenctl", program] {
            #expect(symlink(old, link.path) == 0)
            #expect(try link.isMade() == (old == program))
            try link.make()
            #expect(try link.isMade())
            try link.undo()
            #expect(directory.names() == ["tokenctl"])
        }
        #expect(symlink("/nonexistent/bin/other", link.path) == 0)
        #expect(throws: AgentError.self) { try link.make() }
        #expect(link.remnant().isEmpty)
    }
}
