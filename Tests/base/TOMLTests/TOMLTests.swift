// SPDX-License-Identifier: MIT

import Testing

@testable import TOML

private func parse(_ text: String) throws(TOMLError) -> TOMLTable {
    try TOMLTable(parsing: Array(text.utf8))
}

@Suite struct TOMLTests {
    @Test(arguments: [
        ("\"a\\tb\"", TOMLValue.Content.string("a\tb")), ("'c:\\no'", .string("c:\\no")),
        ("42", .integer(42)),
        ("0xDEAD_beef", .integer(0xDEAD_BEEF)), ("3.5", .float(3.5)), ("true", .boolean(true)),
        ("1979-05-27", .dateTime("1979-05-27")),
    ])
    func `a value is read as what it is`(text: String, expected: TOMLValue.Content) throws {
        #expect(try parse("v = \(text)\n")["v"]?.content == expected)
    }

    @Test(arguments: ["bare", "\"open", "\"\\q\"", "[1 2]", "{a=1", "01", "", "\"a\u{1}b\""])
    func `a malformed value is refused on its line`(text: String) {
        let error = #expect(throws: TOMLError.self) { try parse("x = 1\nv = \(text)") }
        #expect(error?.position.line == 2)
        #expect(error?.message.contains("\n") == false)
    }

    @Test(arguments: [("a = 1\na = 2\n", 2), ("[a]\nb = 1\n[a]\n", 3), ("key\n", 1), ("x = 1\n[a\n", 2)])
    func `a text that is no TOML is refused with its line`(text: String, line: Int) {
        let error = #expect(throws: TOMLError.self) { try parse(text) }
        #expect(error?.position.line == line)
    }

    /// As many parts as no stack holds, in each place where a text nests; the last at the library's own limit.
    private static let deepTexts: [(String, String)] = {
        let dots = Array(repeating: "a", count: 60_000).joined(separator: ".")
        let inline = String(repeating: "{a=", count: 17) + "1" + String(repeating: "}", count: 17)
        return [
            ("x = 1\n\(dots) = 1\n", "parts"), ("x = 1\n[\(dots)]\n", "parts"),
            ("x = 1\n[[\(dots)]]\n", "parts"), ("x = 1\nv = { \(dots) = 1 }\n", "parts"),
            ("x = 1\n\"a\".'b' . \(dots) = 1\n", "parts"),
            ("x = 1\nv = \(String(repeating: "[", count: 60_000))\n", "nested more than"),
            ("x = 1\nv = \(inline)\n", "nested more than"),
        ]
    }()

    @Test(arguments: 0..<deepTexts.count)
    func `a text that nests deeper than a stack holds is refused with its line`(index: Int) {
        let (text, word) = Self.deepTexts[index]
        let error = #expect(throws: TOMLError.self) { try parse(text) }
        #expect(error?.position.line == 2)
        #expect(error?.message.contains(word) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: [
        "v = '\(String(repeating: ".", count: 1000))'", "v = \"\\\"\(String(repeating: "[", count: 1000))\"",
        "v = 1 # \(String(repeating: "[.", count: 1000))",
        "v = \"\"\"\n\(String(repeating: "{.\n", count: 1000))\\\"\"\"\"\"\"",
        "v = \(String(repeating: "[", count: 16))1.5\(String(repeating: "]", count: 16))",
        "v = [\(String(repeating: "1.5,", count: 1000))]", "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p = 1",
    ])
    func `what only looks deep is read`(text: String) throws {
        #expect(try parse(text + "\nafter = 1\n")["after"]?.content == .integer(1))
    }

    @Test func `a text longer than any configuration is refused unread`() {
        let text = String(repeating: "#", count: 5 << 20)
        #expect(throws: TOMLError.self) { try parse(text) }
    }

    @Test func `every key knows its line, in the order of writing`() throws {
        let document = try parse(
            #"""
            # a = comment
            [agent]
            lead = "5m"   # z = 1
            note = """
            [fake]
            key = 1 \""" """

            [session."work"]
            scopes = [
                "openid",  # ] one
                'm]ail',
            ]
            fields.access = "a"
            allow = [{ exe = "/bin/true" }, { confirm = true }]
            """#
        )
        #expect(document.entries.map(\.key) == ["agent", "session"])
        guard case .table(let agent)? = document["agent"]?.content,
            case .table(let sessions)? = document["session"]?.content,
            case .table(let work)? = sessions["work"]?.content
        else {
            Issue.record("the tables are not where they should be")
            return
        }
        #expect(agent.entries.map(\.position.line) == [3, 4])
        #expect(work.entries.map(\.key) == ["scopes", "fields", "allow"])
        #expect(work.entries.map(\.position.line) == [9, 13, 14])
        #expect(work["scopes"]?.position.line == 9)
    }

    @Test func `arrays of tables know the lines of their own keys`() throws {
        let document = try parse("[[p]]\nn = 1\n[[p]]\nn = 2\n[p.q]\nm = 3\n")
        guard case .array(let elements)? = document["p"]?.content, elements.count == 2,
            case .table(let second) = elements[1].content, case .table(let inner)? = second["q"]?.content
        else {
            Issue.record("the tables are not where they should be")
            return
        }
        #expect(elements.map(\.position.line) == [1, 3])
        #expect(second["n"]?.position.line == 4)
        #expect(inner["m"]?.position.line == 6)
    }

    @Test func `bytes that are not UTF-8 are refused`() {
        #expect(throws: TOMLError.self) { try TOMLTable(parsing: [0x61, 0x3D, 0x22, 0xFF, 0x22]) }
    }

    @Test func `every prefix of a good text is read or refused, never more`() {
        let text = Array(
            "[a]\nb = [1, {c = \"\\u00e9\"}, '''x'''] # é\nd.e = 1979-05-27\n[[f]]\n\"g h\" = 1\n".utf8
        )
        for count in 0...text.count {
            let prefix = Array(text.prefix(count))
            guard let table = try? TOMLTable(parsing: prefix) else { continue }
            #expect(table.entries.count <= 3)
        }
    }
}
