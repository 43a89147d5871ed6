// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

struct PathSegmentsTests {
    @Test(arguments: [
        ("", "/api"), ("/", "/api"), ("/api", "/api"), ("/api", "/api/"), ("/api/", "/api"),
        ("/api", "/api/v1/x"), ("/v1%2e2", "/v1.2/x"), ("/v1.2", "/v1%2E2"), ("/a%2Fb", "/a%2Fb/c"), ("", ""),
    ])
    func `a path covers what is below it`(path: String, below: String) throws {
        #expect(try #require(PathSegments(path)).cover(try #require(PathSegments(below))))
    }

    @Test(
        .holds("193"),
        arguments: [
            ("/api", "/api-v1"), ("/api", "/ap"), ("/api", "/"), ("/api/v1", "/api"), ("/api", "/API"),
            ("/a", "//a"), ("/a//b", "/a/b"), ("/é", "/e\u{301}"), ("/a%2fb", "/a/b"),
        ]
    )
    func `a path covers nothing else`(path: String, other: String) throws {
        #expect(try !#require(PathSegments(path)).cover(try #require(PathSegments(other))))
    }

    @Test(arguments: [
        "/..", "/a/../b", "/a/.", "/./a", "/%2e%2E/a", "/a/.%2e", "/a/%2e./b", "..", "/a/%2E",
        "/a/..%2fb", "/a/%2e%2e%2Fb", "/a%2f..", "/a/b%2F..%2fc", "/a/..;x/b", "/a/..%3bx/b", "/a/..\\b",
        "/a/..%5cb", "/a/%252e%252e/b", "/a/%c0%ae%c0%ae/b", "/a/%EF%BC%8E%EF%BC%8E/b", "/a/%EF%B8%B0/b",
        "/a%2f%EF%B8%B0", "/a%2", "/a%00",
    ])
    func `a path that moves up is none`(path: String) {
        #expect(PathSegments(path) == nil)
    }

    @Test func `one slash at the end counts for nothing`() {
        #expect(PathSegments("/a/b/")?.count == 2)
        #expect(PathSegments("/a/b")?.count == 2)
        #expect(PathSegments("/")?.count == 0)
    }
}
