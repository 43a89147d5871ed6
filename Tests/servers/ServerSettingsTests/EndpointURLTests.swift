// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import TokenCore

struct EndpointURLTests {
    @Test(arguments: [
        ("https://id.example", "id.example", 443, "", String?.none),
        ("https://id.example/", "id.example", 443, "/", nil),
        ("HTTPS://ID.example:8443/a/b?c=d", "id.example", 8_443, "/a/b", "c=d"),
        ("https://id.example?x=1", "id.example", 443, "", "x=1"),
        ("http://127.0.0.1:8080/t", "127.0.0.1", 8_080, "/t", nil),
        ("http://127.9.9.9/", "127.9.9.9", 80, "/", nil), ("http://[::1]:9/", "::1", 9, "/", nil),
        ("https://[2001:db8::1]/", "2001:db8::1", 443, "/", nil),
        ("https://a_b.example/", "a_b.example", 443, "/", nil),
    ])
    func `an endpoint is taken apart`(
        text: String,
        host: String,
        port: Int,
        path: String,
        query: String?
    ) throws {
        let url = try EndpointURL(text)
        #expect(url.description == text)
        #expect(url.host == host)
        #expect(url.port == port)
        #expect(url.path == path)
        #expect(url.query == query)
    }

    @Test(
        .holds("87", "O14", "O33"),
        arguments: [
            ("", EndpointURLError.notAURL), ("id.example", .notAURL), ("/token", .notAURL),
            ("//id.example/", .notAURL),
            ("ftp://id.example/", .wrongScheme), ("file:///etc/passwd", .wrongScheme),
            ("javascript://x/", .wrongScheme),
            ("https://", .notAURL), ("https:///token", .notAURL), ("https://id.example:0/", .notAURL),
            ("https://id.example:65536/", .notAURL), ("https://id.example:+1/", .notAURL),
            ("https://id.example:x/", .notAURL),
            ("https://id.example/#x", .hasFragment), ("https://id.example#", .hasFragment),
            ("https://user@id.example/", .hasUserInformation),
            ("https://user:pw@id.example/", .hasUserInformation),
            ("https://id.example\\@evil.example/", .notAURL), ("https://id example/", .notAURL),
            ("https://id.example/a b", .notAURL), ("https://id.example/\n", .notAURL),
            ("https://\u{69}d.ex\u{E4}mple/", .notAURL),
            ("https://[::1/", .notAURL), ("https://[nonsense]/", .notAURL), ("https://[::1]x/", .notAURL),
            ("http://id.example/", .notSecure), ("http://localhost.example/", .notSecure),
            ("http://notlocalhost/", .notSecure), ("http://.localhost/", .notSecure),
            ("http://localhost../", .notSecure),
            ("http://10.0.0.1/", .notSecure),
            ("http://127.0.0.1.evil.example/", .notSecure), ("http://127.1/", .notSecure),
            ("http://2130706433/", .notSecure),
            ("http://0x7f.0.0.1/", .notSecure), ("http://[::2]/", .notSecure),
            ("http://0.0.0.0/", .notSecure),
        ]
    )
    func `what is no safe endpoint is refused`(text: String, problem: EndpointURLError) {
        #expect(throws: problem) { try EndpointURL(text) }
    }

    @Test(arguments: [
        "http://localhost", "http://LocalHost:3000/mcp", "http://app.localhost/", "http://a.b.localhost:1/",
        "http://localhost./",
    ])
    func `localhost and what is below it are this machine`(text: String) throws {
        let url = try EndpointURL(text)
        #expect(url.isLoopback && url.isInternal)
        #expect(url.addresses == ["127.0.0.1", "::1"])
        #expect(try EndpointURL("https://id.example").addresses == [nil])
    }
}
