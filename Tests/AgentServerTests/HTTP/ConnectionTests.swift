// SPDX-License-Identifier: MIT

import NIOCore
import NIOEmbedded
import Testing
import Text

@testable import AgentServer

struct ConnectionTests {
    private let agent = RecordingAgent()
    private let channel: EmbeddedChannel

    init() throws {
        let register = ConnectionRegister(limits: ConnectionRegister.Limits(descriptors: 64))
        let services = ConnectionServices(agent: agent, limits: RequestLimits(), register: register)
        let connection = Connection(Caller(Peer(processID: 1, userID: 1)), services)
        channel = EmbeddedChannel(handler: connection)
        channel.connect(to: try SocketAddress(unixDomainSocketPath: "/nowhere"), promise: nil)
    }

    private static let get = "GET /v1 HTTP/1.1\r\nHost: tokenagent\r\n\r\n"

    @Test func `a request is answered and the connection stays open`() throws {
        try send(Self.get)
        let answer = try received()
        #expect(
            answer.hasPrefix(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"
            )
        )
        #expect(answer.hasSuffix("Content-Length: 12\r\n\r\n{\"ok\":true}\n"))
        #expect(channel.isActive)
    }

    @Test func `pipelined requests are answered in their order`() throws {
        agent.answer = nil
        try send("GET /a HTTP/1.1\r\nHost: tokenagent\r\n\r\nGET /b HTTP/1.1\r\nHost: tokenagent\r\n\r\n")
        #expect(agent.received.map(\.request.head.address.target) == ["/a"])
        agent.received[0].connection.answer(.text("first", contentType: "text/plain"))
        channel.embeddedEventLoop.run()
        #expect(agent.received.map(\.request.head.address.target) == ["/a", "/b"])
        #expect(try received().hasSuffix("first"))
        agent.received[1].connection.answer(.text("second", contentType: "text/plain"))
        #expect(try received().hasSuffix("second"))
    }

    @Test func `whoever sends many requests at once lets others in between`() throws {
        try send(String(repeating: Self.get, count: 40))
        #expect(agent.received.count == 16)
        channel.embeddedEventLoop.run()
        #expect(agent.received.count == 16)
        channel.embeddedEventLoop.advanceTime(by: .microseconds(50))
        #expect(agent.received.count == 32)
        channel.embeddedEventLoop.advanceTime(by: .microseconds(50))
        #expect(agent.received.count == 40)
    }

    @Test func `a HEAD request gets the head alone`() throws {
        try send("HEAD /v1 HTTP/1.1\r\nHost: tokenagent\r\n\r\n")
        #expect(try received().hasSuffix("Content-Length: 12\r\n\r\n"))
    }

    @Test func `an HTTP 1_0 peer is told that the connection stays open`() throws {
        try send("GET /v1 HTTP/1.0\r\nHost: tokenagent\r\nConnection: keep-alive\r\n\r\n")
        #expect(try received().contains("\r\nConnection: keep-alive\r\n"))
        #expect(channel.isActive)
    }

    @Test(arguments: ["GET /v1 HTTP/1.0\r\nHost: tokenagent\r\n\r\n", "GET /v1 HTTP/1.1\r\nHost: x\r\n\r\n"])
    func `the last answer says so and the connection closes`(text: String) throws {
        try send(text)
        #expect(try received().contains("\r\nConnection: close\r\n"))
        channel.embeddedEventLoop.advanceTime(by: .seconds(3))
        #expect(!channel.isActive)
    }

    @Test func `a body is asked for only once its head is accepted`() throws {
        try send("POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        #expect(try received() == "HTTP/1.1 100 Continue\r\n\r\n")
        try send("{")
        #expect(try received() == "")
        try send("}")
        #expect(try received().hasPrefix("HTTP/1.1 200 OK"))
        #expect(agent.received.map(\.request.body) == [Array("{}".utf8)])
    }

    @Test func `a body too long is refused instead of asked for`() throws {
        try send(
            "POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nExpect: 100-continue\r\nContent-Length: 65537\r\n\r\n"
        )
        #expect(try received().hasPrefix("HTTP/1.1 413 "))
    }

    @Test(arguments: [
        "G", get.dropLast(2) + "", "POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: 2\r\n\r\n{",
    ])
    func `a request must be whole within five seconds`(start: String) throws {
        try send(start)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(4_999))
        #expect(channel.isActive)
        #expect(try received() == "")
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(try received().hasPrefix("HTTP/1.1 408 "))
        channel.embeddedEventLoop.advanceTime(by: .seconds(2))
        #expect(!channel.isActive)
    }

    @Test func `trickling does not win time`() throws {
        for byte in Self.get.utf8.prefix(6) {
            try send(String(decoding: [byte], as: UTF8.self))
            channel.embeddedEventLoop.advanceTime(by: .milliseconds(900))
        }
        #expect(try received().hasPrefix("HTTP/1.1 408 "))
    }

    @Test func `the clock starts anew with each request`() throws {
        try send(Self.get + "G")
        channel.embeddedEventLoop.advanceTime(by: .seconds(4))
        try send(String(Self.get.dropFirst()) + "G")
        channel.embeddedEventLoop.advanceTime(by: .seconds(4))
        #expect(try received().components(of: "200 OK") == 2)
        #expect(channel.isActive)
    }

    @Test func `a quiet connection is left alone`() throws {
        try send(Self.get)
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
    }

    @Test func `a slow answer is not a slow request`() throws {
        agent.answer = nil
        try send(Self.get)
        channel.embeddedEventLoop.advanceTime(by: .seconds(30))
        agent.received[0].connection.answer(Answer(status: .ok, body: Array("late".utf8)))
        #expect(try received().hasPrefix("HTTP/1.1 200 OK"))
    }

    @Test func `a peer that never reads is dropped after ten seconds`() throws {
        agent.answer = nil
        try send(Self.get)
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
        #expect(agent.left == 1)
    }

    @Test func `no request is taken while the peer leaves answers unread`() throws {
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        try send(Self.get)
        #expect(agent.received.isEmpty)
        channel.isWritable = true
        channel.pipeline.fireChannelWritabilityChanged()
        channel.embeddedEventLoop.run()
        #expect(agent.received.count == 1)
    }

    @Test func `a peer that leaves while it waits is reported`() throws {
        agent.answer = nil
        try send(Self.get)
        channel.close(promise: nil)
        #expect(agent.left == 1)
        agent.received[0].connection.answer(Answer(status: .ok, body: []))
    }

    @Test func `a peer that is slow to read the last answer has ten seconds, then two to close`() throws {
        let slow = SlowPeer()
        try channel.pipeline.syncOperations.addHandler(slow, position: .first)
        let last = Self.get.replacing("\r\n\r\n", with: "\r\nConnection: close\r\n\r\n")
        try send(last)
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        #expect(channel.isActive && !slow.hasClosed)
        slow.read()
        channel.embeddedEventLoop.run()
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(999))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func `lines are sent as chunks until the end`() throws {
        agent.answer = nil
        try send(Self.get)
        let connection = agent.received[0].connection
        connection.beginStream("application/x-ndjson")
        #expect(try received().contains("\r\nTransfer-Encoding: chunked\r\n"))
        connection.stream(Array("{}\n".utf8))
        #expect(try received() == "3\r\n{}\n\r\n")
        connection.endStream()
        #expect(try received() == "0\r\n\r\n")
    }

    @Test func `what was written is wiped from the shared buffer`() throws {
        let shared = OutputBuffer()
        var buffer = shared.take()
        buffer.writeString("secret")
        shared.giveBack(buffer)
        buffer = ByteBuffer()
        let again = shared.take()
        #expect(again.readableBytes == 0)
        #expect(again.getBytes(at: 0, length: 6) == nil)
        var exposed = again
        exposed.moveWriterIndex(to: 6)
        #expect(exposed.readBytes(length: 6) == [0, 0, 0, 0, 0, 0])
    }

    private func send(_ text: String) throws {
        try channel.writeInbound(ByteBuffer(string: text))
    }

    /// Everything written since the last look.
    private func received() throws -> String {
        var text = ""
        while var buffer = try channel.readOutbound(as: ByteBuffer.self) {
            text += buffer.readString(length: buffer.readableBytes) ?? ""
        }
        return text
    }
}

/// A peer for which the channel cannot write anything until it reads.
private final class SlowPeer: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    private var promises: [EventLoopPromise<Void>] = []
    private(set) var hasClosed = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if let promise { promises.append(promise) }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        hasClosed = true
        // Half of an embedded channel cannot be closed.
        guard mode == .all else { return }
        context.close(mode: mode, promise: promise)
    }

    func read() {
        for promise in promises { promise.succeed() }
        promises = []
    }
}

extension String {
    fileprivate func components(of part: String) -> Int {
        var count = 0
        var rest = self[...]
        while let range = rest.firstRange(of: part) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}
