// SPDX-License-Identifier: MIT

import NIOCore
import TestSupport
import Testing
import Text

@testable import AgentServer

struct ConnectionTests {
    private let bench: ConnectionBench
    private let peer: ConnectionBench.PeerEnd

    init() throws {
        bench = try ConnectionBench()
        peer = try bench.connect()
    }

    private var agent: RecordingAgent { bench.agent }

    /// More than the kernel and the agent keep for a peer that does not read.
    private static let long = HTTPResponse(
        status: .ok,
        body: Array(repeating: UInt8(ascii: "x"), count: 1 << 20)
    )

    private static let get = "GET /v1 HTTP/1.1\r\nHost: tokenagent\r\n\r\n"

    @Test func `a request is answered and the connection stays open`() throws {
        send(Self.get)
        let answer = received()
        #expect(
            answer.hasPrefix(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"
            )
        )
        #expect(answer.hasSuffix("Content-Length: 12\r\n\r\n{\"ok\":true}\n"))
        #expect(peer.isOpen)
    }

    @Test func `pipelined requests are answered in their order`() throws {
        agent.answer = nil
        send("GET /a HTTP/1.1\r\nHost: tokenagent\r\n\r\nGET /b HTTP/1.1\r\nHost: tokenagent\r\n\r\n")
        #expect(agent.received.map(\.request.head.address.target) == ["/a"])
        agent.received[0].connection.answer(.text("first", contentType: "text/plain"))
        bench.turn()
        #expect(agent.received.map(\.request.head.address.target) == ["/a", "/b"])
        #expect(received().hasSuffix("first"))
        agent.received[1].connection.answer(.text("second", contentType: "text/plain"))
        #expect(received().hasSuffix("second"))
    }

    @Test func `whoever sends many requests at once lets others in between`() throws {
        let other = try bench.connect()
        other.write(Self.get)
        send(String(repeating: Self.get, count: 40))
        #expect(agent.received.count == 17)
        #expect(agent.received.contains { $0.connection === other.connection })
        // What comes meanwhile waits behind the rest.
        send(String(repeating: Self.get, count: 20))
        #expect(agent.received.count == 33)
        for expected in [49, 61, 61] {
            bench.turn()
            #expect(agent.received.count == expected)
        }
    }

    @Test func `a HEAD request gets the head alone`() throws {
        send("HEAD /v1 HTTP/1.1\r\nHost: tokenagent\r\n\r\n")
        #expect(received().hasSuffix("Content-Length: 12\r\n\r\n"))
    }

    @Test func `an HTTP 1_0 peer is told that the connection stays open`() throws {
        send("GET /v1 HTTP/1.0\r\nHost: tokenagent\r\nConnection: keep-alive\r\n\r\n")
        #expect(received().contains("\r\nConnection: keep-alive\r\n"))
        #expect(peer.isOpen)
    }

    @Test(arguments: ["GET /v1 HTTP/1.0\r\nHost: tokenagent\r\n\r\n", "GET /v1 HTTP/1.1\r\nHost: x\r\n\r\n"])
    func `the last answer says so and the connection closes`(text: String) throws {
        send(text)
        #expect(received().contains("\r\nConnection: close\r\n"))
        bench.advance(by: .seconds(3))
        #expect(!peer.isOpen)
    }

    @Test func `a body is asked for only once its head is accepted`() throws {
        send("POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        #expect(received() == "HTTP/1.1 100 Continue\r\n\r\n")
        send("{")
        #expect(received() == "")
        send("}")
        #expect(received().hasPrefix("HTTP/1.1 200 OK"))
        #expect(agent.received.map(\.request.body) == [Array("{}".utf8)])
    }

    @Test(.holds("7")) func `a body too long is refused instead of asked for`() throws {
        send(
            "POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nExpect: 100-continue\r\nContent-Length: 65537\r\n\r\n"
        )
        #expect(received().hasPrefix("HTTP/1.1 413 "))
    }

    @Test(
        .holds("10"),
        arguments: [
            "G", get.dropLast(2) + "", "POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: 2\r\n\r\n{",
        ]
    )
    func `a request must be whole within five seconds`(start: String) throws {
        send(start)
        bench.advance(by: .milliseconds(4_999))
        #expect(peer.isOpen)
        #expect(received() == "")
        bench.advance(by: .milliseconds(1))
        #expect(received().hasPrefix("HTTP/1.1 408 "))
        bench.advance(by: .seconds(2))
        #expect(!peer.isOpen)
    }

    @Test(.holds("10")) func `trickling does not win time`() throws {
        for byte in Self.get.utf8.prefix(6) {
            send(String(decoding: [byte], as: UTF8.self))
            bench.advance(by: .milliseconds(900))
        }
        #expect(received().hasPrefix("HTTP/1.1 408 "))
    }

    @Test func `the clock starts anew with each request`() throws {
        send(Self.get + "G")
        bench.advance(by: .seconds(4))
        send(String(Self.get.dropFirst()) + "G")
        bench.advance(by: .seconds(4))
        #expect(received().occurrences(of: "200 OK") == 2)
        #expect(peer.isOpen)
    }

    @Test func `a quiet connection is left alone`() throws {
        send(Self.get)
        bench.advance(by: .hours(1))
        #expect(peer.isOpen)
    }

    @Test func `a slow answer is not a slow request`() throws {
        agent.answer = nil
        send(Self.get)
        bench.advance(by: .seconds(30))
        agent.received[0].connection.answer(HTTPResponse(status: .ok, body: Array("late".utf8)))
        #expect(received().hasPrefix("HTTP/1.1 200 OK"))
    }

    @Test func `a peer that never reads is dropped after ten seconds`() throws {
        agent.answer = Self.long
        send(Self.get)
        bench.advance(by: .seconds(9))
        #expect(peer.isOpen)
        bench.advance(by: .seconds(1))
        #expect(!peer.isOpen)
    }

    @Test func `no request is taken while the peer leaves answers unread`() throws {
        agent.answer = Self.long
        send(Self.get)
        send(Self.get)
        #expect(agent.received.count == 1)
        var text = ""
        for _ in 0..<100 where agent.received.count < 2 {
            text += peer.read()
            bench.turn()
        }
        #expect(agent.received.count == 2)
        #expect(text.hasSuffix("xxx"))
    }

    @Test func `a peer that leaves while it waits is reported`() throws {
        agent.answer = nil
        let leaving = try bench.connect()
        leaving.write(Self.get)
        bench.turn()
        let connection = leaving.connection
        leaving.leave()
        bench.turn()
        #expect(agent.left == 1)
        #expect(connection.state == .closed)
        agent.received[0].connection.answer(HTTPResponse(status: .ok, body: []))
    }

    @Test func `a request of a peer that leaves at once is received`() throws {
        let leaving = try bench.connect(reading: false)
        leaving.write(Self.get)
        leaving.leave()
        try leaving.connection.begin()
        #expect(agent.received.count == 1)
        bench.turn()
        #expect(leaving.connection.state == .closed)
    }

    @Test func `a peer that is slow to read the last answer has ten seconds, then two to close`() throws {
        agent.answer = Self.long
        send(Self.get.replacing("\r\n\r\n", with: "\r\nConnection: close\r\n\r\n"))
        bench.advance(by: .seconds(9))
        #expect(peer.isOpen && !peer.isAtEnd)
        var text = ""
        for _ in 0..<100 where !text.hasSuffix("x") || !peer.isAtEnd {
            text += peer.read()
            bench.turn()
        }
        #expect(text.utf8.count > 1 << 20)
        #expect(peer.isOpen && peer.isAtEnd)
        bench.advance(by: .milliseconds(999))
        #expect(peer.isOpen)
        bench.advance(by: .seconds(2))
        #expect(!peer.isOpen)
    }

    @Test func `what comes in pieces is read piece by piece`() throws {
        let body = String(repeating: "b", count: 60_000)
        send("POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: 60000\r\n\r\n" + body + Self.get)
        for _ in 0..<20 { bench.turn() }
        #expect(agent.received.map(\.request.body.count) == [60_000, 0])
        #expect(received().occurrences(of: "200 OK") == 2)
    }

    @Test func `lines are sent as chunks until the end`() throws {
        agent.answer = nil
        send(Self.get)
        let connection = agent.received[0].connection
        connection.beginStream("application/x-ndjson")
        #expect(received().contains("\r\nTransfer-Encoding: chunked\r\n"))
        connection.stream(Array("{}\n".utf8))
        #expect(received() == "3\r\n{}\n\r\n")
        connection.endStream()
        #expect(received() == "0\r\n\r\n")
    }

    @Test func `what was written is wiped from the shared buffer`() throws {
        let shared = SharedBuffer()
        var buffer = shared.take()
        buffer.writeString("secret")
        shared.release(buffer)
        buffer = ByteBuffer()
        let again = shared.take()
        #expect(again.readableBytes == 0)
        #expect(again.getBytes(at: 0, length: 6) == nil)
        var exposed = again
        exposed.moveWriterIndex(to: 6)
        #expect(exposed.readBytes(length: 6) == [0, 0, 0, 0, 0, 0])
    }

    private func send(_ text: String) {
        #expect(peer.write(text))
        bench.turn()
    }

    /// Everything that has been answered since the last look.
    private func received() -> String { peer.read() }
}
