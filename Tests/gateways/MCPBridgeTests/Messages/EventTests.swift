// SPDX-License-Identifier: MIT

import Testing
import Text

@testable import MCPBridge

/// Streams of events, as HTML defines them and as servers write them.
struct EventTests {
    typealias Event = ServerSentEvents.Event

    private static func event(_ data: String, _ type: ByteText = "message") -> Event {
        Event(type: type, data: Array(data.utf8))
    }

    @Test(arguments: [
        ("data: a\n\n", [event("a")]),
        ("data: a\r\n\r\n", [event("a")]),
        ("data: a\r\rdata: b\r\r", [event("a"), event("b")]),
        ("data:a\ndata: b\ndata:  c\n\n", [event("a\nb\n c")]),
        ("event: ping\ndata: {}\n\ndata: x\n\n", [event("{}", "ping"), event("x")]),
        (": a comment\n\ndata: a\n\n", [event("a")]),
        ("\u{FEFF}data: a\n\n", [event("a")]),
        ("data\n\n", [event("")]),
        ("data:\nid: 1\n\n", [event("")]),
        ("id: 1\n\n", []),
        ("unknown: 1\ndata: a\nDATA: b\n\n", [event("a")]),
        ("data: a", []),
        ("data: a\n", []),
        (":\n\n:\n\nevent: message\nid: 0\nretry:\ndata: a\n\r\n", [event("a")]),
        ("event:\ndata: a\n\nevent: x\nevent\ndata: b\n\n", [event("a"), event("b")]),
        ("\u{FEFF}\u{FEFF}data: a\ndata:\tb\n\n", [event("\tb")]),
        ("event: x\n\ndata: a\n\n", [event("a")]), (" data: a\ndata : b\ndata\u{3A}c\n\n", [event("c")]),
    ])
    func `streams are read as HTML says, however they are cut`(text: String, events: [Event]) throws {
        let bytes = Array(text.utf8)
        for size in 1...max(1, bytes.count) {
            var stream = ServerSentEvents()
            var found: [Event] = []
            for start in Swift.stride(from: 0, to: bytes.count, by: size) {
                found += try stream.append(Array(bytes[start..<min(bytes.count, start + size)]))
            }
            #expect(found == events, "in pieces of \(size)")
        }
    }

    @Test func `the last identifier is that of a complete event, and stays`() throws {
        var stream = ServerSentEvents()
        _ = try stream.append(Array("id: 1\ndata: a\n\nid: 2\ndata: b\n".utf8))
        #expect(stream.lastID == "1")
        _ = try stream.append(Array("\ndata: c\n\n".utf8))
        #expect(stream.lastID == "2")
        _ = try stream.append(Array("id\ndata: d\n\n".utf8))
        #expect(stream.lastID == nil)
    }

    @Test(arguments: [
        "a\u{1}b", "a\u{7F}", String(repeating: "i", count: 1025), " ",
    ])
    func `an identifier that cannot be sent back counts as none`(id: String) throws {
        var stream = ServerSentEvents()
        _ = try stream.append(Array("id:  \(id)\ndata: a\n\n".utf8))
        #expect(stream.lastID == nil)
    }

    @Test func `an identifier with a NUL is not read`() throws {
        var stream = ServerSentEvents()
        _ = try stream.append(Array("id: 1\ndata: a\n\nid: 2\u{0}\ndata: a\n\n".utf8))
        #expect(stream.lastID == "1")
    }

    @Test(
        arguments: [
            ("retry: 250", .milliseconds(250)), ("retry: 1s", nil), ("retry: -1", nil), ("retry:", nil),
            ("retry: 12345678901234567890", nil),
        ] as [(String, Duration?)]
    )
    func `a wait is a whole number of milliseconds`(line: String, wait: Duration?) throws {
        var stream = ServerSentEvents()
        _ = try stream.append(Array("\(line)\n".utf8))
        #expect(stream.retry == wait)
    }

    @Test(arguments: [
        "data: " + String(repeating: "a", count: 101), String(repeating: "a", count: 101),
        ": " + String(repeating: "a", count: 101),
        String(repeating: "data: aaaaaaaaa\n", count: 11),
    ])
    func `an event that does not end is refused`(text: String) {
        #expect(throws: RPCFailure.self) {
            var stream = ServerSentEvents(longest: 100)
            for byte in text.utf8 { _ = try stream.append([byte]) }
        }
    }

    @Test func `many events of the greatest length go through`() throws {
        var stream = ServerSentEvents(longest: 100)
        for _ in 0..<100 {
            let events = try stream.append(Array("data: \(String(repeating: "a", count: 90))\n\n".utf8))
            #expect(events.count == 1)
        }
        #expect(stream.held == 0)
    }

    @Test func `a stream that breaks is come back to later and later, but soon after news`() throws {
        var place = EventStreamCursor()
        #expect(place.delay == .seconds(1) && place.fields.isEmpty)
        for _ in 0..<3 { place.hasFailed() }
        #expect(place.delay == .seconds(8))
        for _ in 0..<30 { place.hasFailed() }
        #expect(place.delay == .seconds(300))
        place.hasEnded()
        #expect(place.delay == .seconds(4))
        var stream = ServerSentEvents()
        _ = try stream.append(Array("id: 5\nretry: 0\ndata: a\n\n".utf8))
        place.take(stream, hadMessage: false)
        #expect(place.delay == .milliseconds(100))
        #expect(place.fields.map(\.value) == ["5"])
        place.hasEnded()
        #expect(place.failures == 0)
        // The same identifier again is no news.
        place.hasFailed()
        place.take(stream, hadMessage: false)
        #expect(place.failures == 1)
    }
}
