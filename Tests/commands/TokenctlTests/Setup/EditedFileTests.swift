// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import TestSupport
import Testing

@testable import tokenctl_commands

/// Files of the user that `tokenctl setup` replaces.
struct EditedFileTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private var file: String { directory.path("file") }

    private var block: TextBlock {
        TextBlock(
            file: file,
            mark: BlockIdentifier("uv"),
            place: .top,
            lines: ["key = \"ours\""],
            ours: ["key = *"],
            isTOML: true
        )
    }

    private var item: JSONItem { JSONItem(file, in: "credHelpers", "h.example", "tokenagent") }

    private func refusal(_ body: () throws -> Void) -> AgentError? {
        #expect(throws: AgentError.self) { try body() }
    }

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
        // A file that existed before belongs to the user, even if it is empty.
        try directory.write("kind: Config\n", to: "file")
        try setting.undo()
        #expect(directory.names() == ["file"])
    }

    @Test func `a byte order mark stays the beginning`() throws {
        let text = "\u{FEFF}a = 1\n"
        try directory.write(text, to: "file")
        try block.make()
        #expect(File.text(file)?.hasPrefix("\u{FEFF}# >>> ") == true)
        #expect(try block.isMade())
        try block.undo()
        #expect(File.text(file) == text)
    }

    @Test func `a file that another program is changing stays as it is`() throws {
        try directory.write("a = 1\n", to: "file")
        try directory.write("", to: "file.lock")
        let error = refusal { try block.make() }
        #expect(error?.message.contains("file.lock exists") == true && error?.remedy != nil)
        #expect(File.text(file) == "a = 1\n" && File.exists(file + ".lock"))
        File.remove(file + ".lock")
        try block.make()
        #expect(directory.names() == ["file"])
    }

    @Test func `a file whose text cannot be read to its end is refused`() throws {
        // Nothing is mapped at its beginning.
        let error = refusal { _ = try EditedFile("/proc/self/mem") }
        #expect(error?.message == "cannot change /proc/self/mem: Input/output error")
    }

    @Test func `a file longer than any configuration is refused`() throws {
        try directory.write(String(repeating: "a", count: 1 << 20), to: "file")
        #expect(try EditedFile(file).text?.utf8.count == 1 << 20)
        try directory.write(String(repeating: "a", count: 1 << 20 + 1), to: "file")
        let error = refusal { _ = try EditedFile(file) }
        #expect(error?.message.contains("more than 1048576 bytes") == true)
    }

    @Test func `a link whose draft was left behind is refused with the same words`() throws {
        let program = try directory.write("", to: "tokenctl", mode: 0o700)
        let link = HelperLink(at: directory.path("new/link"), to: program)
        try directory.makeDirectory("new")
        try File.link(link.path + ".lock", to: program)
        let error = refusal { try link.make() }
        try directory.write("", to: "file.lock")
        let other = refusal { try block.make() }
        #expect(error?.message == "cannot change \(link.path): the lock file \(link.path).lock exists")
        #expect(error?.remedy != nil && error?.remedy == other?.remedy)
        File.remove(link.path + ".lock")
        try link.make()
        #expect(try link.isMade())
    }

    @Test func `a change since the file was read is not written over`() throws {
        try directory.write("caf\u{E9}\n", to: "file")
        let read = try EditedFile(file)
        // The same text for Unicode.
        try File.write("cafe\u{301}\n", to: file)
        let error = refusal { try read.replace(with: "ours\n") }
        #expect(error?.message.contains("changed just now") == true)
        #expect(File.bytes(file) == Array("cafe\u{301}\n".utf8))
        #expect(directory.names() == ["file"])
    }

    @Test func `a read-only file stays as it is`() throws {
        try directory.write("a = 1\n", to: "file", mode: 0o444)
        let error = refusal { try block.make() }
        #expect(error?.code == .badRequest && error?.message.contains("read-only") == true)
        #expect(File.text(file) == "a = 1\n" && directory.names() == ["file"])
    }

    @Test(.enabled(if: TestUser.isRoot, "only root may give a file any group"))
    func `a file keeps its group`() throws {
        try directory.write("a = 1\n", to: "file", mode: 0o640)
        #expect(chown(file, uid_t.max, 4711) == 0)
        try block.make()
        var status = stat()
        #expect(lstat(file, &status) == 0 && status.st_gid == 4711)
        #expect(File.mode(file) == 0o640)
    }

    @Test func `what is not UTF-8 stays as it is`() throws {
        #expect(Program.succeeds("printf 'name = \\351\\n' >'\(file)'"))
        let bytes = File.bytes(file)
        let error = refusal { try block.make() }
        #expect(error?.code == .badRequest && error?.message.contains("UTF-8") == true)
        #expect(File.bytes(file) == bytes)
    }

    @Test(arguments: ["", "here"])
    func `without a home directory it says so`(home: String) async throws {
        let tokenctl = try TokenctlRun(responding: { _ in .answer(#"{"sessions":[]}"#) })
        let result = try await tokenctl("setup", "go", "--print", environment: ["HOME": home])
        #expect(result.status == 2 && result.standardError.contains("Set: HOME to your home"), "\(result)")
    }
}
