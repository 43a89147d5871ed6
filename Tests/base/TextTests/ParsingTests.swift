// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import Text

@Suite struct ParsingTests {
    private static let texts: [(String, JSONValue)] = [
        ("null", .null),
        (" \t\r\n true \n", true),
        ("false", false),
        (#""""#, ""),
        ("[]", []),
        ("{}", [:]),
        (#"[1,[2],{"a":[]}]"#, [1, [2], ["a": []]]),
        (#"{"b":1,"a":null}"#, ["b": 1, "a": .null]),
        (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
        (#""\u0041\u00e9\u20AC""#, "Aé€"),
        (#""\ud83d\uDE00""#, "😀"),
        (#""\u0000""#, "\0"),
        ("\"😀 é\u{7F}\"", "😀 é\u{7F}"),
    ]

    @Test(arguments: texts)
    func `a text of RFC 8259 is read`(text: String, value: JSONValue) throws {
        #expect(try JSONValue(parsing: text.utf8) == value)
    }

    @Test(arguments: [
        "0", "-0", "10", "-7", "0.5", "1.25e3", "1E+2", "2e-10", "123456789012345678901234567890",
    ])
    func `a number keeps its spelling`(text: String) throws {
        #expect(try JSONValue(parsing: text.utf8) == .number(text))
    }

    @Test(
        .holds("103"),
        arguments: [
            ("", JSONError.Reason.unexpectedEnd, 0),
            ("[1,", .unexpectedEnd, 3),
            (#"{"a""#, .unexpectedEnd, 4),
            (#""abc"#, .unexpectedEnd, 4),
            (#""\u12"#, .unexpectedEnd, 5),
            ("[1,]", .unexpectedByte, 3),
            ("{,}", .unexpectedByte, 1),
            (#"{"a":1,}"#, .unexpectedByte, 7),
            ("{a:1}", .unexpectedByte, 1),
            ("'a'", .unexpectedByte, 0),
            ("tru", .unexpectedEnd, 3),
            ("nul1", .unexpectedByte, 3),
            ("+1", .unexpectedByte, 0),
            (".5", .unexpectedByte, 0),
            ("NaN", .unexpectedByte, 0),
            ("[01]", .unexpectedByte, 2),
            ("-", .invalidNumber, 1),
            ("1.", .invalidNumber, 2),
            ("1e", .invalidNumber, 2),
            ("\"a\nb\"", .invalidString, 2),
            (#""\x""#, .invalidString, 3),
            (#""\ud800""#, .invalidString, 7),
            (#""\ud800\u0041""#, .invalidString, 13),
            (#""\udc00""#, .invalidString, 7),
            (#""\u12g4""#, .invalidString, 3),
            ("1 2", .trailingBytes, 2),
            ("01", .trailingBytes, 1),
            ("{}\0", .trailingBytes, 2),
        ]
    )
    func `anything else is refused where it goes wrong`(text: String, reason: JSONError.Reason, offset: Int) {
        #expect(throws: JSONError(reason: reason, offset: offset)) { try JSONValue(parsing: text.utf8) }
    }

    @Test(
        .holds("103"),
        arguments: [
            #"{"access_token":"a","access_token":"b"}"#,
            #"{"access_token":"a","\u0061ccess_token":"b"}"#,
            #"{"":1,"":1}"#,
        ]
    )
    func `two readers cannot see two different tokens`(text: String) {
        #expect {
            try JSONValue(parsing: text.utf8)
        } throws: { error in
            (error as? JSONError)?.reason == .duplicateMember
        }
    }

    @Test func `equal names in different objects are no duplicates`() throws {
        let value = try JSONValue(parsing: #"{"a":{"a":1},"b":{"a":2}}"#.utf8)
        #expect(value.object?["b"]?.object?["a"]?.integer == 2)
    }

    @Test(
        .holds("103"),
        arguments: [
            [0xEF, 0xBB, 0xBF, 0x7B, 0x7D], [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22],
            [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0xE2, 0x82, 0x22],
        ]
    )
    func `bytes that are not UTF-8 are refused`(bytes: [UInt8]) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: bytes) }
    }

    @Test(.holds("103")) func `nesting is bounded`() throws {
        let deepest = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)
        #expect(try JSONValue(parsing: deepest.utf8).array?.count == 1)
        #expect(throws: JSONError(reason: .tooDeep, offset: 32)) {
            try JSONValue(parsing: String(repeating: "[", count: 1_000_000).utf8)
        }
        #expect(try JSONValue(parsing: "[[],[],[]]".utf8, maximumDepth: 2).array?.count == 3)
    }

    @Test(.holds("74")) func `values are counted wherever they stand, and more than 16,384 are refused`()
        throws
    {
        let members = (0..<16_383).map { "\"\($0)\":0" }.joined(separator: ",")
        #expect(try JSONValue(parsing: "{\(members)}".utf8).object?.members.count == 16_383)
        let oneMore = "{\(members),\"a\":0}"
        #expect(throws: JSONError(reason: .tooManyValues, offset: oneMore.utf8.count - 2)) {
            try JSONValue(parsing: oneMore.utf8)
        }
        #expect(try JSONValue(parsing: oneMore.utf8, maximumValues: .max).object?.members.count == 16_384)
        #expect(throws: JSONError(reason: .tooManyValues, offset: 4)) {
            try JSONValue(parsing: "[[],[]]".utf8, maximumValues: 2)
        }
        #expect(throws: JSONError(reason: .tooManyValues, offset: 0)) {
            try JSONValue(parsing: "0".utf8, maximumValues: 0)
        }
    }

    @Test func `every beginning of a text is refused without harm`() throws {
        let text = Array(#"{"a":[1.5e3,"\ud83d\ude00",{"b":null}],"c":false}"#.utf8)
        _ = try JSONValue(parsing: text)
        for length in 0..<text.count {
            #expect(throws: JSONError.self) { try JSONValue(parsing: text[..<length]) }
        }
    }

    @Test func `names are the same only if their bytes are`() throws {
        let object = try #require(try JSONValue(parsing: "{\"caf\u{E9}\":1,\"cafe\u{301}\":2}".utf8).object)
        #expect(object["caf\u{E9}"] == 1)
        #expect(object["cafe\u{301}"] == 2)
        #expect(JSONValue.string("caf\u{E9}") != "cafe\u{301}")
    }

    @Test(.holds("74"), arguments: ["a", #"\u0061"#])
    func `a name has at most 256 bytes`(letter: String) throws {
        let longest = "{\"\(String(repeating: letter, count: 256))\":1}"
        #expect(try JSONValue(parsing: longest.utf8).object?.members.count == 1)
        let longer = "[{\"\(String(repeating: letter, count: 257))\":1}]"
        #expect(throws: JSONError(reason: .nameTooLong, offset: 2)) { try JSONValue(parsing: longer.utf8) }
    }

    /// `String` needs minutes to learn whether two such names are the same.
    @Test(.timeLimit(.minutes(10)))
    func `a megabyte of marks is refused at once, and read at once where it is a value`() throws {
        let marks = String(repeating: "\u{301}\u{323}", count: 1 << 18)
        #expect(throws: JSONError.self) { try JSONValue(parsing: "{\"\(marks)\":1,\"\(marks)a\":2}".utf8) }
        let value = try JSONValue(parsing: "{\"scope\":\"\(marks)\"}".utf8)
        #expect(value != ["scope": .string(marks + "a")])
    }

    @Test(.timeLimit(.minutes(10)))
    func `many short names of marks are compared in no time`() throws {
        let names = (0..<1_500).map { "\(String(repeating: "\u{301}\u{323}", count: 60))\($0)" }
        let text = "{" + names.map { "\"\($0)\":0" }.joined(separator: ",") + "}"
        #expect(try JSONValue(parsing: text.utf8).object?.members.count == 1_500)
    }
}
