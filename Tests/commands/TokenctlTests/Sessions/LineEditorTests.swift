// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import tokenctl_commands

/// Lines typed at a terminal.
struct LineEditorTests {
    @Test(arguments: [
        ("abc\n", "abc", "abc\n"), ("abd\u{7F}c\r", "abc", "abd\u{8} \u{8}c\n"),
        ("ab\u{8}\u{8}\u{8}c\n", "c", "ab\u{8} \u{8}\u{8} \u{8}c\n"),
        ("one two  \u{17}x\n", "one x", nil), ("all of it\u{15}x\n", "x", nil),
        ("\u{E4}\u{20AC}\u{7F}x\n", "\u{E4}x", nil), ("a\u{1}\u{7F}\n", "a", "a^A\u{8} \u{8}\u{8} \u{8}\n"),
        ("ab\u{4}", "ab", "ab"),
    ])
    func `keys edit the line, and what is seen follows`(typed: String, line: String, shown: String?) {
        for echoes in [true, false] {
            let editor = LineEditor(echoes: echoes)
            var (bytes, screen) = ([UInt8](), [UInt8]())
            let steps = typed.utf8.map { editor.take($0, into: &bytes, showing: &screen) }
            #expect(steps.last == .line && steps.dropLast().allSatisfy { $0 == .more })
            #expect(String(decoding: bytes, as: UTF8.self) == line)
            if !echoes { #expect(screen.isEmpty) }
            if echoes, let shown { #expect(String(decoding: screen, as: UTF8.self) == shown) }
        }
    }

    @Test func `the key for the end ends the input only where nothing was typed`() {
        let editor = LineEditor(echoes: true)
        var (bytes, screen) = ([UInt8](), [UInt8]())
        #expect(editor.take(0x04, into: &bytes, showing: &screen) == .end)
    }

    @Test func `a key that is switched off is no zero byte`() {
        var editor = LineEditor(echoes: false)
        editor.keys.end = 0
        var (bytes, screen) = ([UInt8](), [UInt8]())
        #expect(editor.take(0, into: &bytes, showing: &screen) == .more && bytes == [0])
    }

    /// The terminal's driver holds 4,095 bytes of a line.
    @Test(arguments: [4_095, 4_096, 12_000])
    func `a secret typed at a terminal arrives whole`(length: Int) async throws {
        let secret = String(repeating: "secret-", count: length / 7 + 1).prefix(length)
        for question in [#""kind":"password","secret":true"#, #""kind":"redirect","secret":false"#] {
            let need = #"{"event":"need","login":"1",\#(question),"prompt":"Give it"}"#
            let agent = try ScriptedAgent([
                [.read, .lines(need), .hang], [.read, .answer("")],
            ])
            let program = try ProgramAtTerminal(
                [BuiltPrograms.client, "login", "work"],
                environment: [
                    "TOKENAGENT_SOCK": agent.socket, "TOKENAGENT_AUTOSTART": "0", "HOME": "/nonexistent",
                ]
            )
            try await program.type(String(secret), after: "Give it: ")
            let isThere = try await Polling.until {
                agent.requests.contains { $0.hasSuffix(#"{"value":"\#(secret)"}"#) }
            }
            #expect(isThere, "\(program.screen.suffix(200))")
        }
    }

    @Test(arguments: ["--password-stdin", "--refresh-token-stdin"])
    func `standard input that is a terminal is read like one`(option: String) async throws {
        let secret = String(repeating: "s", count: 5_000)
        let agent = try ScriptedAgent(.read, .lines(#"{"event":"done"}"#))
        let program = try ProgramAtTerminal(
            [BuiltPrograms.client, "login", "work", option],
            environment: [
                "TOKENAGENT_SOCK": agent.socket, "TOKENAGENT_AUTOSTART": "0", "HOME": "/nonexistent",
            ]
        )
        try await program.type(secret, after: ": ")
        #expect(try await Polling.until { agent.requests.contains { $0.contains("\"\(secret)\"") } })
        #expect(!program.screen.contains("sss"))
    }
}
