// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

@testable import MCPBridge

/// The client's lines, and the fields that requests are sent with.
struct LineTests {
    private static func lines(_ text: String, longest: Int = 100, by size: Int) -> [MessageLines.Line] {
        let bytes = Array(text.utf8)
        var lines = MessageLines(longest: longest)
        var found: [MessageLines.Line] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            lines.append(Array(bytes[start..<min(bytes.count, start + size)]))
            while let line = lines.next() { found.append(line) }
        }
        if let last = lines.last() { found.append(last) }
        return found
    }

    @Test(arguments: [
        ("a\nb\n", ["a", "b"]), ("a\r\n\r\n\nb", ["a", "b"]), ("\n\n", []), ("", []), ("a", ["a"]),
    ])
    func `each line is a message, and empty ones are none`(text: String, messages: [String]) {
        for size in 1...4 {
            let found = Self.lines(text, by: size)
            #expect(found == messages.map { .message(Array($0.utf8)) })
        }
    }

    @Test(arguments: [1, 7, 1000])
    func `a line that is too long is told once, and the next one is read`(size: Int) {
        let long = String(repeating: "x", count: 5_000)
        let found = Self.lines("a\n\(long)\nb\n\(long)", by: size)
        #expect(found == [.message([0x61]), .tooLong, .message([0x62]), .tooLong])
        #expect(Self.lines(String(repeating: "y", count: 100) + "\n", by: size).first != .tooLong)
    }

    private static func fields(_ text: String) throws -> [String]? {
        let packet = try RPCPacket(parsing: Array(text.utf8))
        guard let version = MCPRoutingHeaders.version(of: packet) else { return nil }
        return MCPRoutingHeaders.fields(for: packet, version: version).map { "\($0.name): \($0.value)" }
    }

    @Test(arguments: [
        (#""method":"tools/call","params":{"name":"echo","#, ["mcp-method: tools/call", "mcp-name: echo"]),
        (
            #""method":"resources/read","params":{"uri":"file:///a","#,
            ["mcp-method: resources/read", "mcp-name: file:///a"]
        ),
        (
            #""method":"prompts/get","params":{"name":" é","#,
            ["mcp-method: prompts/get", "mcp-name: =?base64?IMOp?="]
        ),
        (#""method":"tools/list","params":{"#, ["mcp-method: tools/list"]),
        (#""method":"a\r\nx: y","params":{"#, ["mcp-method: =?base64?YQ0KeDogeQ==?="]),
    ])
    func `what a message says is repeated in fields from 2026-07-28 on`(text: String, fields: [String]) throws
    {
        let meta = #""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#
        let found = try Self.fields(#"{"jsonrpc":"2.0","id":1,\#(text)\#(meta)"#)
        #expect(found == ["mcp-protocol-version: 2026-07-28"] + fields)
    }

    @Test(arguments: [
        #"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"a b"}}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":1}}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"a","params":[]}"#,
    ])
    func `a message of an older version has no such fields`(text: String) throws {
        #expect(try Self.fields(text) == nil)
    }

    @Test(arguments: [
        ("echo", "echo"), ("a b", "a b"), (" a", "=?base64?IGE=?="), ("a ", "=?base64?YSA=?="), ("", ""),
        ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="), ("\u{7F}", "=?base64?fw==?="),
    ])
    func `a value that a field cannot hold is in Base64`(text: String, value: String) {
        #expect(MCPRoutingHeaders.encoded(text) == value)
    }

    @Test(.holds("222")) func `arguments are repeated in fields where a tool's schema says so`() throws {
        let list = #"""
            {"jsonrpc":"2.0","id":1,"result":{"tools":[
            {"name":"query","inputSchema":{"type":"object","properties":{
              "region":{"type":"string","x-mcp-header":"Region"},"limit":{"type":"integer","x-mcp-header":"Limit"},
              "deep":{"type":"object","properties":{"flag":{"type":"boolean","x-mcp-header":"Flag"}}},
              "bad":{"type":"string","x-mcp-header":"a b"},"missing":{"type":"string","x-mcp-header":"Missing"},
              "list":{"type":"array","items":{"type":"string","x-mcp-header":"No"}}}}},
            {"name":"plain","inputSchema":{"type":"object"}},{"name":5},7]}}
            """#
        var fields = MCPParameterHeaders()
        fields.note(try RPCPacket(parsing: Array(list.utf8)))
        func of(_ tool: String) throws -> [String] {
            let arguments = #"{"region":"Łódź","limit":10,"deep":{"flag":true},"bad":"x","list":["y"]}"#
            let call =
                #"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\#(tool)","arguments":\#(arguments)}}"#
            return fields.fields(for: try RPCPacket(parsing: Array(call.utf8))).map {
                "\($0.name): \($0.value)"
            }
        }
        #expect(
            try of("query") == [
                "mcp-param-region: =?base64?xYHDs2TFug==?=", "mcp-param-limit: 10", "mcp-param-flag: true",
            ]
        )
        #expect(try of("plain").isEmpty && of("other").isEmpty)
        fields.note(
            try RPCPacket(
                parsing: Array(
                    #"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"query","inputSchema":{}}]}}"#.utf8
                )
            )
        )
        #expect(try of("query").isEmpty)
    }

    @Test func `a server's session is what its fields say, within bounds`() {
        let many = (0..<40).map { (name: "mcp-x-\($0)", value: "v") }
        let session = MCPSession(
            fields: [
                ("mcp-session-id", "abc"), ("mcp-protocol-version", "1999-01-01"), ("content-type", "x"),
                ("mcp-long", String(repeating: "l", count: 2_000)), ("mcp-line", "a\u{85}b"),
            ] + many,
            version: "2025-11-25"
        )
        #expect(session.id == "abc")
        let fields = session.fields
        #expect(fields.count == 18)
        #expect(fields.suffix(2).map(\.value) == ["abc", "2025-11-25"])
        #expect(!fields.contains { ["mcp-long", "mcp-line", "content-type"].contains($0.name) })
        #expect(fields.filter { $0.name == "mcp-protocol-version" }.count == 1)
    }

    @Test(arguments: ["", "a b", "a\u{1}", String(repeating: "s", count: 2_000)])
    func `a session without a good identifier is none`(id: String) {
        let session = MCPSession(fields: [("mcp-session-id", id)], version: "a b")
        #expect(session == .notBegun)
    }
}
