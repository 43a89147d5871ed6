// SPDX-License-Identifier: MIT

import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOSSL
import Testing

@testable import OAuthClient

struct AnswerCollectorTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var name: String
        var answer: String
        var status = 200
        var body: String
        var endsWithConnection = false

        var testDescription: String { name }
    }

    static let rows = [
        Row(name: "a length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", body: "{}"),
        Row(name: "nothing", answer: "HTTP/1.1 204 No Content\r\n\r\n", status: 204, body: ""),
        Row(
            name: "until the end",
            answer: "HTTP/1.0 400 Bad\r\n\r\n{}",
            status: 400,
            body: "{}",
            endsWithConnection: true
        ),
        Row(
            name: "an interim answer",
            answer:
                "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1",
            body: "1"
        ),
        Row(
            name: "chunks",
            answer:
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n",
            body: "abc0123456789"
        ),
    ]

    /// A connection that has sent its request, and its response or error.
    private final class Connection {
        private(set) var reply: ServerResponse?
        private(set) var failure: (any Error)?
        private let channel = EmbeddedChannel()

        init(readsBody: Bool = true) throws {
            let collector = AnswerCollector(
                readsBody: readsBody,
                onAnswer: { [unowned self] in reply = $0 },
                onEnd: { [unowned self] in failure = $0 }
            )
            try channel.pipeline.syncOperations.addHTTPHandlers(collector)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/")
            try channel.writeOutbound(HTTPClientRequestPart.head(head))
        }

        func take(_ bytes: some Collection<UInt8>) {
            // The handler's errors end up in `failure`.
            _ = try? channel.writeInbound(ByteBuffer(bytes: bytes))
        }

        /// The connection ended without a TLS alert.
        func breakOff() {
            channel.pipeline.fireErrorCaught(NIOSSLError.uncleanShutdown)
        }

        func end() {
            _ = try? channel.finish()
        }
    }

    @Test(arguments: rows) func `an answer is read however its bytes come`(row: Row) throws {
        let bytes = Array(row.answer.utf8)
        for cut in 0...bytes.count {
            let connection = try Connection()
            connection.take(bytes[..<cut])
            if cut < bytes.count { #expect(connection.reply == nil, "cut at \(cut)") }
            connection.take(bytes[cut...])
            #expect((connection.reply == nil) == row.endsWithConnection)
            connection.end()
            let reply = try #require(connection.reply, "cut at \(cut)")
            #expect(reply.status == row.status)
            #expect(String(decoding: reply.body, as: UTF8.self) == row.body)
            #expect(connection.failure == nil)
        }
    }

    @Test(arguments: rows) func `an answer whose connection breaks off is none`(row: Row) throws {
        let bytes = Array(row.answer.utf8)
        for count in 0..<bytes.count {
            let connection = try Connection()
            connection.take(bytes[..<count])
            connection.breakOff()
            connection.end()
            #expect(connection.reply == nil, "\(count) bytes")
            #expect(connection.failure as? NIOSSLError == .uncleanShutdown, "\(count) bytes")
        }
    }

    @Test func `an end that was not sealed is no end of an answer`() throws {
        let connection = try Connection()
        connection.take("HTTP/1.1 200 OK\r\n\r\n{}".utf8)
        connection.breakOff()
        connection.end()
        #expect(connection.reply == nil)
    }

    @Test func `names of headers are in lower case, values as they came`() throws {
        let connection = try Connection()
        connection.take("HTTP/1.1 200 OK\r\nDPoP-Nonce:  aB\r\nDate: now\r\nContent-Length: 0\r\n\r\n".utf8)
        let reply = try #require(connection.reply)
        #expect(reply.header("dpop-nonce") == "aB")
        #expect(reply.headers.map(\.name) == ["dpop-nonce", "date", "content-length"])
        connection.end()
    }

    @Test func `where the head says all, the body may never end`() throws {
        let connection = try Connection(readsBody: false)
        connection.take("HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\nabc".utf8)
        #expect(connection.reply?.body == [])
        connection.end()
        #expect(connection.failure == nil)
    }

    @Test(arguments: [
        "Content-Length: 1048577\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n"
            + String(repeating: "10000\r\n\(String(repeating: "a", count: 65_536))\r\n", count: 17),
        String(repeating: "a: b\r\n", count: 129) + "\r\n",
        "a: " + String(repeating: "b", count: 70_000),
    ]) func `what is too large is not read`(rest: String) throws {
        let connection = try Connection()
        connection.take("HTTP/1.1 200 OK\r\n\(rest)".utf8)
        #expect(connection.reply == nil)
        let failure = connection.failure
        let isTooLarge =
            failure as? TransportFailure == .tooLarge || failure as? TransportFailure == .largeHead
            || failure as? HTTPParserError == .headerOverflow
        #expect(isTooLarge, "\(String(describing: failure))")
        connection.end()
    }

    @Test func `an answer to nothing is none`() throws {
        let channel = EmbeddedChannel()
        var failure: (any Error)?
        try channel.pipeline.syncOperations.addHTTPHandlers(
            AnswerCollector(
                readsBody: true,
                onAnswer: { _ in Issue.record("an answer") },
                onEnd: { failure = $0 }
            )
        )
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        _ = try? channel.writeInbound(ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
        #expect(failure != nil)
        _ = try? channel.finish()
    }
}
