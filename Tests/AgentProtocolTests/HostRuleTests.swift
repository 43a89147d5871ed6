// SPDX-License-Identifier: MIT

import Testing

@testable import AgentProtocol

@Suite struct HostRuleTests {
    @Test(arguments: [
        ("git.example.com", "git.example.com", true), ("git.example.com", "GIT.Example.com:8443", true),
        ("git.example.com:8443", "git.example.com:8443", true),
        ("git.example.com:8443", "git.example.com", false), ("git.example.com", "xgit.example.com", false),
        ("git.example.com", "git.example.com.evil.org", false), ("*.example.com", "a.b.example.com", true),
        ("*.example.com", "example.com", false), ("*.example.com", "badexample.com", false),
        ("oauth2@git.example.com", "git.example.com", true), ("example.com", "git.example.com", false),
        ("[::1]", "[::1]:8443", true), ("[::1]:8443", "[::1]", false),
        ("[2001:DB8::1]", "[2001:db8::1]", true),
        ("*.example.com", ".example.com.example.com", nil), ("k.example.com", "\u{212A}.example.com", nil),
        ("git.example.com", "git\u{301}.example.com", nil), ("git.example.com", "git.example.com:+443", nil),
        ("git.example.com", "git%2Eexample.com", nil), ("git.example.com", "[git.example.com]", nil),
        ("[::1]", "[::1]evil.org", nil), ("[::1]", "[::1%25lo]", nil),
    ])
    func `a rule names exactly its servers`(rule: String, place: String, isNamed: Bool?) throws {
        let rule = try #require(HostRule(rule))
        let place = HostAndPort(place)
        #expect(place.map { rule.closeness(to: $0) != nil } == isNamed)
    }

    @Test func `the closest of several rules counts`() throws {
        let place = try #require(HostAndPort("git.example.com:8443"))
        let rules = [
            "*.com", "*.example.com", "*.example.com:8443", "git.example.com", "git.example.com:8443",
        ]
        let closeness = rules.map { HostRule($0)?.closeness(to: place) ?? -1 }
        #expect(closeness == closeness.sorted() && Set(closeness).count == rules.count)
        #expect(closeness.allSatisfy { $0 >= 0 })
    }

    @Test(arguments: [
        "", "*", "*.", "git example.com", "https://git.example.com", "git.example.com/x", "@git.example.com",
        "a:b@git.example.com", "git.example.com:0", "git.example.com:70000", "git.example.com:", "git..\n",
        ".example.com", "*.*.example.com", "git..example.com", "*.[::1]x", "[]", "[:]", "git.example.com:+1",
        "\u{212A}.example.com",
    ])
    func `anything else is no rule`(text: String) {
        #expect(HostRule(text) == nil)
    }
}
