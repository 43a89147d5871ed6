// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

@Suite struct ValueTests {
    @Test(
        arguments: [
            ("3600", 3600), ("-1", -1), ("9223372036854775807", .max), ("9223372036854775808", nil),
            ("3600.0", nil), ("36e2", nil), (#""3600""#, nil), ("true", nil),
        ] as [(String, Int64?)]
    )
    func `an integer is one only as it is written`(text: String, expected: Int64?) throws {
        #expect(try JSONValue(parsing: text.utf8).integer == expected)
    }

    @Test func `a double takes any number`() throws {
        #expect(try JSONValue(parsing: "36e2".utf8).double == 3600)
        #expect(try JSONValue(parsing: "1e999".utf8).double == .infinity)
        #expect(try JSONValue(parsing: #""1""#.utf8).double == nil)
    }

    @Test func `a value is only what it is`() {
        #expect(JSONValue.null.string == nil)
        #expect(JSONValue.string("true").bool == nil)
        #expect(JSONValue.bool(false).bool == false)
        #expect(JSONValue.strings(["a"]).array == ["a"])
        #expect(JSONValue.strings(["a"]).object == nil)
    }

    @Test func `members keep their order and are replaced in place`() {
        var object = JSONObject()
        object["a"] = 1
        object["b"] = 2
        object["a"] = 3
        object["c"] = nil
        #expect(JSONValue.object(object).text == #"{"a":3,"b":2}"#)
        object["a"] = nil
        #expect(object.members.map(\.name) == ["b"])
    }

    @Test(arguments: [
        ("\"", #""\"""#), ("\\", #""\\""#), ("\n", #""\u000a""#), ("\u{1B}[31m", #""\u001b[31m""#),
        ("\u{7F}", #""\u007f""#), ("/é😀", "\"/é😀\""),
    ])
    func `a written string is one line without control characters`(text: String, written: String) {
        #expect(JSONValue.string(text).text == written)
    }

    @Test(arguments: [
        #"{"a":[1,2.50,-3e+7,"x"],"b":{"c":null,"d":[true,false]},"":""}"#, "[]", "{}", #""\u0000\u001f""#,
    ])
    func `what is written reads back as itself`(text: String) throws {
        let value = try JSONValue(parsing: text.utf8)
        #expect(value.text == text)
        #expect(try JSONValue(parsing: value.serialized) == value)
    }

    @Test func `random values read back as themselves`() throws {
        var dice = SeededGenerator(seed: 20_260_731)
        for _ in 0..<500 {
            let value = dice.value(depth: 4)
            #expect(try JSONValue(parsing: value.serialized) == value)
        }
    }

    @Test func `a text is plain exactly where writing it escapes nothing`() {
        for byte in UInt8.min...UInt8.max {
            for (length, place) in [(1, 0), (7, 6), (8, 0), (8, 7), (21, 3), (21, 20)] {
                var text = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                text[place] = byte
                var written: [UInt8] = []
                JSONStringWriter.write(text, to: &written)
                #expect(
                    text.withUnsafeBytes { JSONStringWriter.isPlain($0) } == (written.count == length + 2),
                    "\(byte)"
                )
            }
        }
        #expect([UInt8]().withUnsafeBytes { JSONStringWriter.isPlain($0) })
    }
}

extension SeededGenerator {
    fileprivate mutating func value(depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 6 : 4), using: &self) {
        case 0: .null
        case 1: .bool(Bool.random(using: &self))
        case 2: .integer(Int64.random(in: .min ... .max, using: &self))
        case 3: .string(text())
        case 4: .array((0..<3).map { _ in value(depth: depth - 1) })
        default: .object(object(depth: depth - 1))
        }
    }

    private mutating func object(depth: Int) -> JSONObject {
        var object = JSONObject()
        for number in 0..<3 { object["\(number)" + text()] = value(depth: depth) }
        return object
    }

    private mutating func text() -> String {
        let scalars = (0..<Int.random(in: 0..<6, using: &self)).compactMap { _ in
            Unicode.Scalar(UInt32.random(in: 0..<0x1_1000, using: &self))
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
