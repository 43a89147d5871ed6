// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text

/// Which hosts the environment wants reached through a proxy.
struct ProxyVariablesTests {
    private static func proxy(
        _ variables: [String: String],
        _ host: String,
        _ port: Int = 443
    ) throws -> String? {
        try ProxyVariables { variables[$0] }.proxy(for: host, port: port)?.proxy.description
    }

    @Test(
        .holds("88"),
        arguments: [
            (["HTTPS_PROXY": "http://p.example:3128"], "http://p.example:3128"),
            (["https_proxy": "http://p.example:3128/"], "http://p.example:3128"),
            (
                ["https_proxy": "http://a.example:1", "HTTPS_PROXY": "http://b.example:1"],
                "http://a.example:1"
            ),
            (["https_proxy": "", "HTTPS_PROXY": "http://b.example:1"], "http://b.example:1"),
            (["HTTPS_PROXY": "p.example:3128"], "http://p.example:3128"),
            (["HTTPS_PROXY": "https://P.Example"], "https://p.example:443"),
            (["HTTPS_PROXY": "http://[::1]:3128"], "http://[::1]:3128"),
            (["HTTPS_PROXY": "http://u:p%40ss@p.example:3128"], "http://p.example:3128"),
            (["HTTP_PROXY": "http://p.example:3128", "http_proxy": "http://p.example:3128"], nil),
            (["ALL_PROXY": "http://p.example:3128"], nil), ([:], nil),
        ] as [([String: String], String?)]
    )
    func `the proxy is that of https_proxy, and http_proxy is not read`(
        variables: [String: String],
        proxy: String?
    ) throws {
        #expect(try Self.proxy(variables, "id.example") == proxy)
    }

    /// A proxy URL, and the decoded user name and password.
    @Test(
        .holds("88"),
        arguments: [
            ("http://CORP%5Cal:pass@p.example:3128", "CORP\\al:pass"),
            ("http://al:p%C3%A4%25%40%3A%2f@p.example", "al:p\u{E4}%@:/"),
            ("HTTP://al:a@b@P.Example/", "al:a@b"), ("al:pass@p.example:3128", "al:pass"),
            ("http://al:a+b@p.example", "al:a+b"), ("https://al:@[2a00::1]:443", "al:"),
        ]
    )
    func `credentials are decoded as curl decodes them`(url: String, credentials: String) throws {
        let found = try ProxyVariables { $0 == "https_proxy" ? url : nil }.proxy(for: "id.example", port: 443)
        #expect(found?.credentials?.text == credentials)
    }

    @Test(
        .holds("88"),
        arguments: [
            "socks5://p.example:1080", "http://", "http://p.example:0", "http://p.example:70000",
            "http://p.example:x",
            "http://p example:1", "http://p.example:1/path", "http://user@p.example:1", "http://[::1:3128",
            "ftp://p:1", "://p.example:1", "http:p.example:1", "http://p.example:", "http://p.example:+1",
            "http://p.example:1#x", "http://p.example:1?x", "http://u:p%0As@p.example:1",
            "http://u:p%@p.example:1",
            "http://[fe80::1%eth0]:1", "http://[127.0.0.1]:1", "http://p.example:000001",
            "http://p.example:1\r\nX: y",
        ]
    )
    func `what is no proxy fails where it would be used`(text: String) throws {
        #expect(throws: ForwardProxyURLError.self) { try Self.proxy(["HTTPS_PROXY": text], "id.example") }
        #expect(try Self.proxy(["HTTPS_PROXY": text, "NO_PROXY": "id.example"], "id.example") == nil)
    }

    @Test(
        .holds("88"),
        arguments: [
            ("*", "id.example", 443), ("id.example", "id.example", 443), ("ID.Example", "id.example", 443),
            (".example", "id.example", 443), ("*.example", "id.example", 443), ("example", "id.example", 443),
            ("a.example, id.example", "id.example", 443), ("a.example id.example", "id.example", 443),
            ("id.example:443", "id.example", 443), ("id.example.", "id.example", 443),
            ("id.example", "id.example.", 443),
            ("9.9.9.9", "9.9.9.9", 443), ("9.9.0.0/16", "9.9.1.2", 443), ("9.9.8.0/21", "9.9.15.1", 443),
            ("9.9.0.0/16:443", "9.9.1.2", 443), ("0.0.0.0/0", "9.9.9.9", 443), ("::/0", "2a00::1", 443),
            ("::ffff:9.9.9.9", "9.9.9.9", 443), ("a\t,\tid.example", "id.example", 443),
            ("*.id.example", "id.example", 443), ("ID.EXAMPLE.:443", "a.Id.Example.", 443),
            ("[2a00::1]", "2a00::1", 443), ("2a00::/16", "2a00:1::5", 443),
            ("[2a00::1]:8443", "2a00::1", 8443),
            // IPv4-mapped networks count their bits from the start of the IPv6 address.
            ("::ffff:9.9.0.0/112", "9.9.1.2", 443), ("::ffff:0:0/96", "9.9.9.9", 443),
            ("::FFFF:9.9.0.0/112", "::ffff:9.9.1.2", 443),
        ]
    )
    func `NO_PROXY covers a host`(list: String, host: String, port: Int) throws {
        let variables = ["HTTPS_PROXY": "http://p.example:1", "NO_PROXY": list]
        #expect(try Self.proxy(variables, host, port) == nil)
    }

    @Test(
        .holds("88"),
        arguments: [
            ("", "id.example", 443), ("d.example", "id.example", 443), ("id.example.org", "id.example", 443),
            ("id.example:8443", "id.example", 443), ("9.9.9.0/24", "9.9.8.1", 443),
            ("9.9.8.0/21", "9.9.16.1", 443),
            ("id.example/24", "id.example", 443), ("id.example:x", "id.example", 443),
            ("9.9.9.9/x", "9.9.9.9", 443),
            ("9", "9.9.9.9", 443), ("[2a00::2]", "2a00::1", 443), (",,", "id.example", 443),
            (".", "id.example", 443),
            ("9.9.0.0/16:8443", "9.9.1.2", 443), ("0.0.0.0/0", "2a00::1", 443), ("::/0", "9.9.9.9", 443),
            ("https://id.example", "id.example", 443), ("id.example/", "id.example", 443),
            ("*id.example", "id.example", 443), ("id.example..", "id.example", 443),
            ("**", "id.example", 443),
            ("9.9.9.9/33", "9.9.9.8", 443), ("id.example:0", "id.example", 443),
            ("id\nid.example", "id.example", 443),
            ("::ffff:9.9.0.0/112", "9.8.1.2", 443), ("::ffff:9.9.9.9/128", "9.9.9.8", 443),
            ("[::ffff:9.9.0.0]:8443", "9.9.0.0", 443),
        ]
    )
    func `NO_PROXY covers no other host`(list: String, host: String, port: Int) throws {
        let variables = ["HTTPS_PROXY": "http://p.example:1", "NO_PROXY": list]
        #expect(try Self.proxy(variables, host, port) == "http://p.example:1")
    }

    @Test(
        .holds("88"),
        arguments: [
            "127.0.0.1", "::1", "10.1.2.3", "192.168.0.9", "fe80::1", "fd00::1", "localhost", "LOCALHOST",
            "a.localhost",
            "169.254.169.254", "100.64.0.1", "localhost.", "A.LocalHost.", "::ffff:10.0.0.1", "0.0.0.0", "::",
            "64:ff9b::a00:1",
        ]
    )
    func `this machine and private networks are never behind a proxy of the environment`(host: String) throws
    {
        #expect(try Self.proxy(["HTTPS_PROXY": "http://p.example:1"], host) == nil)
    }

    @Test func `lower case wins for exceptions too, and names without their dot`() throws {
        let variables = [
            "HTTPS_PROXY": "http://p.example:1", "no_proxy": "a.example", "NO_PROXY": "b.example",
        ]
        #expect(try Self.proxy(variables, "a.example") == nil)
        #expect(try Self.proxy(variables, "b.example") != nil)
    }

    @Test func `the address of the configuration holds no credentials and names its scheme`() {
        #expect(throws: ForwardProxyURLError.hasCredentials) { try ForwardProxy("http://u:p@p.example:1") }
        #expect(throws: ForwardProxyURLError.otherScheme) { try ForwardProxy("p.example:1") }
        #expect(throws: ForwardProxyURLError.otherScheme) { try ForwardProxy("socks5://p.example:1") }
    }
}
