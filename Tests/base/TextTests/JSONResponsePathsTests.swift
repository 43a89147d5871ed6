// SPDX-License-Identifier: MIT

import Testing

@testable import Text

struct JSONResponsePathsTests {
    private func object(_ text: String) throws -> JSONObject {
        try #require(JSONValue(parsing: text.utf8).object)
    }

    @Test(arguments: [
        ("data", ["data"]), ("error.code", ["error", "code"]), ("errors.0.code", ["errors", "0", "code"]),
        ("a.b.c.d.e.f.g.h", ["a", "b", "c", "d", "e", "f", "g", "h"]), ("ä ö", ["ä ö"]),
    ])
    func `a place is names with dots between`(text: String, steps: [String]) {
        #expect(JSONPath(dotted: text)?.steps.map(\.text) == steps)
        #expect(JSONPath(dotted: text) == JSONPath(steps))
    }

    @Test(arguments: [
        "", ".", "a.", ".a", "a..b", "a.b.c.d.e.f.g.h.i", String(repeating: "a", count: 257),
        String(repeating: "a.", count: 100_000),
    ])
    func `what has no steps, too many or empty ones is no place`(text: String) {
        #expect(JSONPath(dotted: text) == nil)
    }

    private static let ways: [(text: String, steps: [String], value: JSONValue)] = [
        (#"{"a":{"b":1}}"#, ["a", "b"], 1), (#"{"a":{"b":1}}"#, ["a"], ["b": 1]),
        (#"{"a.b":1,"a":{"b":2}}"#, ["a.b"], 1), (#"{"a":[{"b":1},{"b":2}]}"#, ["a", "1", "b"], 2),
        (#"{"a":{"0":1}}"#, ["a", "0"], 1), (#"{"a":null}"#, ["a"], .null),
    ]

    @Test(arguments: ways)
    func `a place leads through objects and arrays`(text: String, steps: [String], value: JSONValue) throws {
        #expect(try object(text)[#require(JSONPath(steps))] == value)
    }

    @Test(arguments: [
        ("{}", ["a"]), (#"{"a":1}"#, ["a", "b"]), (#"{"a":[1]}"#, ["a", "1"]), (#"{"a":[1]}"#, ["a", "-1"]),
        (#"{"a":[1]}"#, ["a", "+0"]), (#"{"a":[1]}"#, ["a", "99999999999999999999"]),
        (#"{"a":"b"}"#, ["a", "b"]), (#"{"a.b":1}"#, ["a", "b"]),
        // The same letter to Unicode, other bytes.
        ("{\"\u{E9}\":1}", ["e\u{301}"]),
    ])
    func `a way that ends before leads nowhere`(text: String, steps: [String]) throws {
        #expect(try object(text)[#require(JSONPath(steps))] == nil)
    }

    @Test func `the content is in the envelope and nowhere else`() throws {
        let places = JSONResponsePaths(envelope: JSONPath(["data"]))
        #expect(try places.content(of: object(#"{"data":{"x":1},"x":2}"#)) == ["x": 1])
        for text in [#"{"x":2}"#, #"{"data":[{"x":1}]}"#, #"{"data":"{}"}"#, #"{"data":null}"#] {
            #expect(try places.content(of: object(text)) == nil)
        }
        #expect(try JSONResponsePaths().content(of: object(#"{"x":2}"#)) == ["x": 2])
    }

    @Test func `codes are read from the place, the envelope and what is around it, in this order`() throws {
        let places = JSONResponsePaths(envelope: JSONPath(["a", "b"]), errorCode: JSONPath(["why", "0"]))
        let answer = try object(
            #"{"why":[4711],"code":"outer","a":{"error":"middle","b":{"error":{"code":"inner"},"code":""}}}"#
        )
        #expect(places.codes(in: answer) == ["4711", "inner", "middle", "outer"])
        #expect(try places.codes(in: object(#"{"a":[],"error":"outer"}"#)) == ["outer"])
        #expect(try places.codes(in: object(#"{"why":[{"x":1}],"a":{"b":{}}}"#)) == [])
        #expect(try JSONResponsePaths().codes(in: object(#"{"a":{"code":"hidden"},"code":7}"#)) == [])
    }

    @Test func `a new login is demanded by the member of that name, wherever errors may stand`() throws {
        let places = JSONResponsePaths(envelope: JSONPath(["data"]), loginDemand: "again")
        for text in [
            #"{"again":true}"#, #"{"error":{"again":true}}"#, #"{"data":{"again":true}}"#,
            #"{"data":{"error":{"again":true}}}"#,
        ] {
            #expect(try places.demandLogin(in: object(text)))
            #expect(try !JSONResponsePaths().demandLogin(in: object(text)))
        }
        for text in [#"{"again":"true"}"#, #"{"other":{"again":true}}"#, #"{"data":[{"again":true}]}"#] {
            #expect(try !places.demandLogin(in: object(text)))
        }
    }

    @Test(arguments: [
        (#"{"error":"x"}"#, true), (#"{"error":{}}"#, true), (#"{"data":{"error":true}}"#, true),
        (#"{"error":""}"#, false), (#"{"error":null,"code":"OK"}"#, false), (#"{"error":false}"#, false),
    ])
    func `an answer with an error is told from one with a code`(text: String, hasError: Bool) throws {
        #expect(try JSONResponsePaths(envelope: JSONPath(["data"])).hasError(in: object(text)) == hasError)
    }
}
