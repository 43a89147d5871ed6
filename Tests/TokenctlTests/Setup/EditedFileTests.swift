// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing

@testable import tokenctl_commands

/// Files of a person's that `tokenctl setup` replaces.
struct EditedFileTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private var file: String { directory.path("file") }

    private var block: TextBlock {
        TextBlock(
            file: file,
            mark: BlockMark("uv"),
            place: .top,
            lines: ["key = \"ours\""],
            ours: ["key = *"],
            isTOML: true
        )
    }

    private var item: JSONItem { JSONItem(file, in: "credHelpers", "h.example", "tokenagent") }

    @Test func `a file that was there stays, empty if it was`() throws {
        for change in [block, item] as [any SetupChange] {
            try directory.write("", to: "file", mode: 0o644)
            for _ in 0..<2 {
                try change.make()
                #expect(try change.isMade())
                try change.undo()
                #expect(File.text(file) == "" && File.mode(file) == 0o644)
            }
        }
        try directory.write("{}\n", to: "file")
        try item.make()
        try item.undo()
        #expect(File.text(file) == "{}\n")
    }

    @Test func `members of a file that was empty are added one after the other`() throws {
        try directory.write("", to: "file")
        let other = JSONItem(file, in: "credHelpers", "i.example", "tokenagent")
        for item in [item, other] { try item.make() }
        for item in [item, other] { #expect(try item.isMade()) }
        for item in [item, other] { try item.undo() }
        #expect(File.text(file) == "")
    }

    @Test func `a file that was made here and whose mode a person changed is theirs`() throws {
        for change in [block, item] as [any SetupChange] {
            try change.make()
            #expect(File.mode(file) == 0o1600)
            try change.undo()
            #expect(!File.exists(file))
        }
        try block.make()
        #expect(chmod(file, 0o644) == 0)
        try block.undo()
        #expect(File.text(file) == "")
    }

    @Test func `a file that another program made for the change goes`() throws {
        let script = "echo 'kind: Config' >\(file)"
        let setting = ProgramSetting(
            set: ["sh", "-c", script],
            unset: ["sh", "-c", script],
            get: ["sh", "-c", "test -e \(file) && echo set"],
            value: "set",
            file: file,
            isBare: { $0 == "kind: Config\n" }
        )
        try setting.make()
        try setting.undo()
        #expect(directory.names() == [])
        // One that was there is a person's, though nothing is in it.
        try directory.write("kind: Config\n", to: "file")
        try setting.undo()
        #expect(directory.names() == ["file"])
    }
}
