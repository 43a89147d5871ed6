// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

@testable import TokenProxy

/// Which paths a listener passes on, in all the ways to write them.
@Suite struct PathRulesTests {
    private static let rules = PathRules(["/v1/*", "/health"])

    /// Ways to get from an allowed path to one that is not.
    static let ways = [
        "/v1/../admin", "/v1/%2e%2e/admin", "/v1/%2E%2E/admin", "/v1/.%2e/admin", "/v1/%2e./admin", "/v1/./x",
        "/v1/..", "/v1/.", "/v1/..;/admin", "/v1/..;a=b/admin", "/v1/.;x/y", "/v1/..%3b/admin", "/v1/.%3Bx/y",
        "/v1/..%20/admin",
        "/v1/..%2fadmin",
        "/v1/..%2Fadmin",
        "/v1%2f..%2fadmin", "/v1/%2fadmin", "/v1/x%5c..%5cadmin", "/v1/..\\admin", "/v1\\..\\admin",
        "/v1/%5C..",
        "/v1/%252e%252e/admin", "/v1/%252E%252e/admin", "/v1/%252fadmin", "/v1/%25%32%65",
        "/v1/%c0%ae%c0%ae/admin",
        "/v1/%C0%AF", "/v1/%c1%9c", "/v1/%e0%80%ae", "/v1/%E0%80%AF", "/v1/%f0%80%80%ae", "/v1/%00",
        "/v1/x%00.json",
        "/v1/%0d%0ax", "/v1/%09", "/v1/%7f", "/v1/%u002e", "/v1/%", "/v1/%2", "/v1/%zz", "/v1/%ff",
        "/v1/%f8%88", "/v1/%EF%BC%8E%EF%BC%8E/admin", "/v1/%ef%bc%8e%ef%bc%8e", "/v1/%E2%80%A5/admin",
        "/v1/%E2%80%A4%E2%80%A4/x", "/v1/%EF%B9%92.", "/v1/x%EF%BC%8F..%EF%BC%8Fadmin", "/v1/x%EF%BC%BC..",
        "/v1/x%E2%81%84..", "/v1/x%E2%88%95..", "/v1/%EF%BC%852e%EF%BC%852e/admin",
        "/v1/%EF%B8%B0/admin", "/v1/x/%ef%b8%b0", "/v1/..%EF%BC%9B/admin", "/v1/.%EF%B9%94x/y",
        "/v1/..%CD%BE/admin", "/v1/%EF%B9%AA2E/admin", "/v1/%EF%BC%85%32%65/admin", "/v1/%EF%B9%A8..",
    ]

    @Test(.holds("231"), arguments: ways)
    func `a path that servers read differently is not plain`(path: String) {
        #expect(!PathAmbiguity.isPlain(Array(path.utf8)[...]))
    }

    @Test(arguments: [
        "/v1/users", "/v1/", "/v1/a.b", "/v1/...", "/v1/..a", "/v1/a..", "/v1//x", "/v1/%20", "/v1/%c3%a9",
        "/v1/%E2%82%AC",
        "/v1/%F0%9F%98%80", "/v1/%E3%80%82", "/v1/100%EF%BC%85", "/v1/%EF%BC%9B", "/v1/%E2%80%A6", "/v1/%25",
        "/v1/100%25", "/v1/a;b=c", "/v1/%3f", "/", "/v1/%7E", "/v1/%e0%a4%84",
        "/v1/%EF%B8%99", "/v1/%EF%B8%B1", "/v1/%CD%BE", "/v1/x..%EF%BC%9B",
    ])
    func `an ordinary path is plain`(path: String) {
        #expect(PathAmbiguity.isPlain(Array(path.utf8)[...]))
    }

    @Test(arguments: [
        ("/v1/", true), ("/v1/x", true), ("/v1", false), ("/V1/x", false), ("//v1/x", false),
        ("/health", true),
        ("/health/", false), ("/healthy", false), ("/", false), ("/v10/x", false), ("/x/v1/", false),
    ])
    func `a pattern fits by bytes`(path: String, isAllowed: Bool) {
        #expect(Self.rules.allow(Array(path.utf8)[...]) == isAllowed)
    }

    @Test func `without patterns there is no rule`() {
        #expect(!PathRules([]).exist && Self.rules.exist)
    }
}
