// SPDX-License-Identifier: MIT

import Testing
import Text

@Suite struct HTTPSyntaxTests {
    private func bytes(_ text: String) -> ArraySlice<UInt8> { Array(text.utf8)[...] }

    @Test func `a request line has three words`() throws {
        let line = try #require(HTTPSyntax.requestLine(bytes("GET /v1?a=b HTTP/1.1")))
        #expect(line.method.elementsEqual("GET".utf8) && line.target.elementsEqual("/v1?a=b".utf8))
        #expect(line.isVersion("HTTP/1.1") && !line.isVersion("HTTP/1.0"))
    }

    @Test(arguments: [
        "", "GET", "GET /", "GET  / HTTP/1.1", " GET / HTTP/1.1", "GET / HTTP/1.1 ", "GET / /x HTTP/1.1",
        "GET /#x HTTP/1.1", "GET /\u{e9} HTTP/1.1", "G(T / HTTP/1.1", "GET /\t HTTP/1.1", "GET / HTTP/2",
        "GET / http/1.1", "GET / HTTP/1.1\r",
    ])
    func `what is no request line is none`(text: String) {
        #expect(HTTPSyntax.requestLine(bytes(text)) == nil)
    }

    @Test(arguments: [
        ("Host: a", "Host", "a"), ("a:", "a", ""), ("x:\t b c \t", "x", "b c"), ("x: \u{e9}", "x", "\u{e9}"),
        ("a:b:c", "a", "b:c"),
    ])
    func `a field is a name and a value without the blanks around it`(
        text: String,
        name: String,
        value: String
    )
        throws
    {
        let field = try #require(HTTPSyntax.field(bytes(text)))
        #expect(field.name.elementsEqual(name.utf8) && field.value.elementsEqual(value.utf8))
    }

    @Test(arguments: [
        "", "Host", ":a", " Host: a", "Host : a", "H\u{e9}: a", "a: b\u{0}", "a: b\rc", "a: b\nc",
        "a: \u{7f}",
    ])
    func `what is no field is none`(text: String) {
        #expect(HTTPSyntax.field(bytes(text)) == nil)
    }

    @Test func `only CR LF ends a line`() {
        let lines = Array(HTTPSyntax.lines(bytes("a\r\nb\nc\rd\r\n\r\n\n")))
        #expect(lines.map { String(decoding: $0, as: UTF8.self) } == ["a", "b\nc\rd", "", "\n"])
    }

    @Test func `names are told whatever the case of their letters`() {
        #expect(bytes("HoSt").says("host") && !bytes("host ").says("host") && !bytes("hos").says("host"))
        #expect(!bytes("\u{212a}eep").says("keep"))
    }

    @Test func `of a challenge a hundred parameters are read`() {
        let all = (1...200).map { "a\($0)=\"\($0), x\"" }.joined(separator: ", ")
        let challenges = Challenges("Bearer \(all)")
        #expect(challenges.value(of: "a1", scheme: "bearer") == "1, x")
        #expect(challenges.value(of: "A100", scheme: "Bearer") == "100, x")
        #expect(challenges.value(of: "a101", scheme: "bearer") == nil)
        #expect(challenges.value(of: "a1", scheme: "dpop") == nil)
        let endless = Challenges("Bearer a1=1, a2=" + String(repeating: "x", count: 1 << 16))
        #expect(endless.value(of: "a1", scheme: "bearer") == nil)
    }
}
