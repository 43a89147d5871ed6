// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

@testable import MCPBridge

/// The parsing of messages, and their form on one line.
struct PacketTests {
    private static let longID =
        #"{"jsonrpc":"2.0","method":"a","id":"\#(String(repeating: "i", count: 1025))"}"#
    private static let notification = #"{"jsonrpc":"2.0","method":"a"}"#
    private static let longBatch: String =
        "[\(String(repeating: "\(notification),", count: 256))\(notification)]"
    private static let deepArray: String =
        String(repeating: "[", count: 200) + String(repeating: "]", count: 200)

    private static func code(_ text: String) -> Int64? {
        do {
            _ = try RPCPacket(parsing: Array(text.utf8))
            return nil
        } catch {
            return (try? JSONValue(parsing: error.error))?.object?["code"]?.integer
        }
    }

    @Test(arguments: [
        (#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, RPCMessage.Kind.request(.number("1"))),
        (#"{"jsonrpc":"2.0","id":"1","method":"a"}"#, .request(.text("1"))),
        (#" { "method" : "a" , "id" : "\u0041é" , "jsonrpc" : "2.0" } "#, .request(.text("Aé"))),
        (#"{"jsonrpc":"2.0","method":"a","params":[{"id":[1,2,{"x":null}]}]}"#, .notification),
        (#"{"jsonrpc":"2.0","id":7,"result":{}}"#, .response(.number("7"))),
        ("\u{FEFF}{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}", .response(.number("7"))),
        (#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#, .response(nil)),
        // From version 2025-11-25 on, an error need not say which request it is about.
        (#"{"jsonrpc":"2.0","error":{"code":1,"message":"m","id":null}}"#, .response(nil)),
        (
            #"{"jsonrpc":"2.0","id":-0.5e+3,"method":"a","later":{"deep":[true,false]}}"#,
            .request(.number("-0.5e+3"))
        ),
    ])
    func `messages are told apart by their members`(text: String, kind: RPCMessage.Kind) throws {
        let packet = try RPCPacket(parsing: Array(text.utf8))
        #expect(packet.single?.kind == kind)
        #expect(!packet.isBatch)
    }

    @Test(arguments: [
        "", "{", "[1,]", "nul", #"{"a":01}"#, #"{"a":"\x"}"#, "{\"a\":\"\u{1}\"}", #"{"a":1}}"#, #"{"a" 1}"#,
        #"{a:1}"#,
        #"{"a":"\u12"}"#, "{\"a\":\"", "[", "[[]", "1 2", "+1", "1.", "1e", "-", "tru",
    ])
    func `what is not JSON is refused as that`(text: String) {
        #expect(Self.code(text) == -32_700)
    }

    @Test(arguments: [
        "1", "null", "[]", "[1]", "{}", #"{"jsonrpc":"1.0","id":1,"method":"a"}"#, #"{"id":1,"method":"a"}"#,
        #"{"jsonrpc":"2.0","id":{},"method":"a"}"#, #"{"jsonrpc":"2.0","id":null,"method":"a"}"#,
        #"{"jsonrpc":"2.0","id":1,"method":1}"#, #"{"jsonrpc":"2.0","id":1}"#,
        #"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#, #"{"jsonrpc":"2.0","result":1}"#,
        #"{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"a","i\u0064":2}"#,
        longID, longBatch, deepArray,
    ])
    func `JSON that is no message is refused as that`(text: String) {
        #expect(Self.code(text) == -32_600)
    }

    @Test func `bytes that are not UTF-8 are no message`() {
        #expect(throws: RPCFailure.self) {
            try RPCPacket(parsing: Array(#"{"jsonrpc":"2.0","method":""#.utf8) + [0xC3] + Array(#""}"#.utf8))
        }
    }

    @Test func `depth is bounded, and what is deep enough is read`() throws {
        let deep = String(repeating: "[", count: 120) + String(repeating: "]", count: 120)
        let packet = try RPCPacket(parsing: Array(#"{"jsonrpc":"2.0","method":"a","params":\#(deep)}"#.utf8))
        #expect(packet.single?.kind == .notification)
        let deeper = String(repeating: "{\"a\":", count: 10_000) + "1" + String(repeating: "}", count: 10_000)
        #expect(Self.code(#"{"jsonrpc":"2.0","method":"a","params":\#(deeper)}"#) == -32_600)
    }

    @Test func `a batch holds each message, and some of them can be written alone`() throws {
        let text =
            #"[{"jsonrpc":"2.0","id":1,"result":1}, {"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":2,"result":2}]"#
        let packet = try RPCPacket(parsing: Array(text.utf8))
        #expect(packet.isBatch && packet.single == nil)
        #expect(packet.messages.map(\.answeredID) == [.number("1"), nil, .number("2")])
        let kept = String(decoding: packet.line(of: [packet.messages[0], packet.messages[2]]), as: UTF8.self)
        #expect(kept == #"[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","id":2,"result":2}]"# + "\n")
        #expect(String(decoding: packet.line(of: packet.messages), as: UTF8.self) == text + "\n")
    }

    @Test func `a message is one line for every reader of lines, and the same value`() throws {
        let text = "{\r\n \"jsonrpc\": \"2.0\",\n\"method\":\"a\u{85}b\u{2028}c\u{2029}dé€\u{7FF}\"\n}\n"
        let packet = try RPCPacket(parsing: Array(text.utf8))
        let line = String(decoding: packet.line(of: packet.messages), as: UTF8.self)
        #expect(line.unicodeScalars.count { "\r\n\u{85}\u{2028}\u{2029}".unicodeScalars.contains($0) } == 1)
        #expect(line.hasSuffix("\n"))
        #expect(try JSONValue(parsing: line.utf8) == JSONValue(parsing: text.utf8))
    }

    @Test func `values are found by their names, and long ones are none`() throws {
        let text =
            #"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"io.x/v":"2026-07-28"},"arguments":{"name":"no"}}}"#
        let packet = try RPCPacket(parsing: Array(text.utf8))
        let message = try #require(packet.single)
        #expect(packet.value("params", "name", of: message)?.string == "echo")
        #expect(packet.value("params", "_meta", "io.x/v", of: message)?.string == "2026-07-28")
        #expect(packet.value("params", "arguments", "none", of: message) == nil)
        #expect(packet.value("method", "name", of: message) == nil)
        let long = String(repeating: "x", count: 10_000)
        let other = try RPCPacket(
            parsing: Array(#"{"jsonrpc":"2.0","method":"a","params":{"name":"\#(long)"}}"#.utf8)
        )
        #expect(other.value("params", "name", of: try #require(other.single)) == nil)
    }

    @Test func `an answer names the request as its sender did`() throws {
        for id in [RPCIdentifier.number("12345678901234567890"), .text("a\"b\\c\n"), nil] {
            let answer = RPCFailure(.failed, "it failed").line(to: id)
            let object = try #require(try JSONValue(parsing: answer).object)
            #expect(object["id"] == (id?.json ?? .null))
            #expect(object["error"]?.object?["code"]?.integer == -32_000)
            #expect(try RPCPacket(parsing: answer).single?.kind == .response(id))
            #expect(answer.count { $0 == 0x0A } == 1 && answer.last == 0x0A)
        }
    }

    @Test func `megabytes are read in a moment`() throws {
        let items = String(repeating: #"{"a":[1,2.5,"b\n"],"c":null},"#, count: 150_000)
        let text = #"{"jsonrpc":"2.0","id":1,"result":["# + items + "0]}"
        let start = ContinuousClock.now
        let packet = try RPCPacket(parsing: Array(text.utf8))
        #expect(packet.requests.isEmpty && packet.messages.count == 1)
        #expect(ContinuousClock.now - start < .seconds(20))
    }
}
