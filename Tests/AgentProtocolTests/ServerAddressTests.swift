// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import AgentProtocol

@Suite struct ServerAddressTests {
    @Test(
        .holds("160"),
        arguments: [
            ("https://git.example.com/a?b#c", "https://git.example.com"),
            ("HTTPS://GIT.example.com?x", "https://git.example.com"),
            ("https://user@git.example.com:8443", "https://git.example.com:8443"),
            ("https://user:pass%20word@git.example.com/", "https://git.example.com"),
            ("https://good.example@evil.org/", "https://evil.org"),
            ("https://git.example.com:443#x", "https://git.example.com"),
            ("http://[::1]:80/a", "http://[::1]"),
            ("grpcs://remote.example.com", "grpcs://remote.example.com"),
            ("git.example.com", "https://git.example.com"), ("registry:5000/app", "https://registry:5000"),
            ("https://index.docker.io/v1/", "https://index.docker.io"),
            ("evil.org/x://git.example.com", "https://evil.org"),
            ("evil.org?://git.example.com", "https://evil.org"),
            ("https://evil.org#@git.example.com", "https://evil.org"),
            ("https://evil.org?@git.example.com", "https://evil.org"),
        ]
    )
    func `the server of an address is the one every reader sees`(text: String, origin: String) {
        #expect(ServerAddress(text)?.origin == origin)
    }

    @Test(
        .holds("160"),
        arguments: [
            "", "https://", "https:///x", "https://a b/", "https://good.example@/",
            #"https://evil.org\@good.example"#,
            #"https://good.example\.evil.org/"#, "https://a@b@good.example/",
            "https://good.example%2Fevil.org/",
            "https://good.example%00.evil.org", "https://good\u{301}.example",
            "https://\u{212A}elvin.example",
            "https://good.example:+443", "https://good.example:443:1", "https://good.example:",
            "https:good.example",
            "https:/good.example", "//good.example", "ftp://good.example", "file:///etc", "https://[::1",
            "https://[::1]x",
            "https://good.example\u{0}", "https://good.example\n", " https://good.example",
            "https ://good.example",
            "https://ex\u{E9}.example", "https://good..example", "http\u{17F}://good.example",
            "https://{a,b}.example",
            "javascript://good.example",
        ]
    )
    func `what readers could understand in two ways is no address`(text: String) {
        #expect(ServerAddress(text) == nil)
    }

    @Test(arguments: ["git.example.com", "//git.example.com", "git.example.com:8443/x"])
    func `an address that has to have a scheme has one`(text: String) {
        #expect(ServerAddress(url: text) == nil)
    }

    @Test(
        .holds("160"),
        arguments: [
            ("https://git.example.com", true), ("git.example.com", true), ("grpcs://git.example.com", true),
            ("http://git.example.com", false), ("grpc://git.example.com", false),
            ("HTTP://git.example.com", false),
            ("http://localhost:8080", true), ("http://127.0.0.1", true), ("http://127.8.9.1:1/x", true),
            ("http://[::1]:8080", true), ("http://127.0.0.1.evil.org", false), ("http://127.1", false),
            ("http://localhost.evil.org", false), ("http://127.0.0.1@evil.org", false),
            ("http://0x7f.0.0.1", false),
            ("http://[::ffff:127.0.0.1]", false), ("http://localhost.", false), ("http://0.0.0.0", false),
        ]
    )
    func `without TLS only this machine is private`(text: String, isPrivate: Bool) throws {
        #expect(try #require(ServerAddress(text)).isPrivate == isPrivate)
    }

    @Test(arguments: [("https", "h:8443", "https://h:8443"), ("http", "[::1]", "http://[::1]")])
    func `scheme and host may come apart`(scheme: String, host: String, origin: String) {
        #expect(ServerAddress(scheme: scheme, host: host)?.origin == origin)
        #expect(ServerAddress(scheme: "ssh", host: host) == nil)
        #expect(ServerAddress(scheme: scheme, host: host + "/path") == nil)
    }
}
