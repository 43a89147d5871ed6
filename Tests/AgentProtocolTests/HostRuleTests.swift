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
    ])
    func `a rule names exactly its servers`(rule: String, place: String, isNamed: Bool) throws {
        let rule = try #require(HostRule(rule))
        let place = try #require(HostName(place))
        #expect((rule.closeness(to: place) != nil) == isNamed)
    }

    @Test func `the closest of several rules counts`() throws {
        let place = try #require(HostName("git.example.com:8443"))
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
        ".example.com", "*.*.example.com",
    ])
    func `anything else is no rule`(text: String) {
        #expect(HostRule(text) == nil)
    }

    @Test(arguments: [
        ("https://git.example.com/a?b#c", "git.example.com"), ("git.example.com", "git.example.com"),
        ("https://user@git.example.com:8443", "git.example.com"),
        ("https://index.docker.io/v1/", "index.docker.io"),
        ("HTTPS://GIT.example.com?x", "git.example.com"),
    ])
    func `the server of an address is its host`(url: String, host: String) {
        #expect(HostName(url: url)?.host == host)
    }

    @Test(arguments: ["", "https://", "https:///x", "https://a b/", "https://good.example@/"])
    func `an address without a server has none`(url: String) {
        #expect(HostName(url: url) == nil)
    }
}
