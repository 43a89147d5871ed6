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

    /// A field, a scheme, the name of a parameter, and its value.
    @Test(
        arguments: [
            // Azure Storage separates parameters by spaces.
            (
                "Bearer authorization_uri=https://login.example/t/authorize resource_id=https://s.example",
                "bearer", "resource_id", "https://s.example"
            ),
            (
                #"Bearer realm="a b" error="invalid_token"  error_description = "no, it is""#, "bearer",
                "error_description", "no, it is"
            ),
            (#"Bearer realm="a b" error="invalid_token", scope="x""#, "bearer", "error", "invalid_token"),
            (#"Bearer realm="a b" error="invalid_token", scope="x""#, "bearer", "scope", "x"),
            (#"Bearer realm="a=b c=d" scope=x"#, "bearer", "c", nil),
            (#"Bearer realm="a" Basic realm="b", scope="x""#, "basic", "realm", "b"),
            // A quoted pair is the second character (RFC 9110 §5.6.4).
            (#"Bearer realm="a \"b\", \c", scope="x\y""#, "bearer", "realm", #"a "b", c"#),
            (#"Bearer realm="a \"b\", \c", scope="x\y""#, "bearer", "scope", "xy"),
            (#"Bearer realm="a\\", scope=x"#, "bearer", "scope", "x"),
            (
                "Bearer resource_metadata='https://api.example/m', scope='a b'", "bearer",
                "resource_metadata", "https://api.example/m"
            ),
            ("Bearer realm='it', error_description=\"it's\"", "bearer", "error_description", "it's"),
            ("Bearer error_description=it's, scope=x", "bearer", "error_description", "it's"),
            (#"Negotiate, NTLM, Basic realm="x", Bearer scope="a b""#, "bearer", "scope", "a b"),
            (
                #"Negotiate YIIB+/w==, Bearer scope=a, DPoP algs="ES256 RS256", scope=b"#, "bearer", "scope",
                "a"
            ),
            (#"Negotiate YIIB+/w==, Bearer scope=a, DPoP algs="ES256 RS256", scope=b"#, "dpop", "scope", "b"),
            (#"Negotiate YIIB+/w==, Bearer scope=a"#, "negotiate", "YIIB+/w", nil),
            (",, Bearer ,, scope = a ,", "bearer", "scope", "a"), ("scope=a", "bearer", "scope", nil),
            (#"Bearer realm="unended, scope=x"#, "bearer", "scope", nil),
            ("Bearer realm=", "bearer", "realm", nil),
            (#"Bearer realm="", scope=x"#, "bearer", "realm", ""),
        ] as [(String, String, String, String?)]
    )
    func `a challenge is read as servers write it`(text: String, scheme: String, name: String, value: String?)
    {
        #expect(Challenges(text).value(of: name, scheme: scheme) == value)
    }

    @Test func `a challenge may have no parameters`() {
        let challenges = Challenges(#"Negotiate, NTLM , Basic realm="Bearer, x" , bearer, DPoP algs=ES256"#)
        let known = ["negotiate", "ntlm", "basic", "Bearer", "dpop"]
        #expect(known.allSatisfy { challenges.offers($0) })
        #expect(!challenges.offers("x") && !challenges.offers("algs") && !challenges.offers(""))
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
