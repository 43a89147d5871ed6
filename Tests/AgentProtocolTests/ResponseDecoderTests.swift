// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import AgentProtocol

/// An answer as it travels, and what it says.
struct GoldenAnswer: Sendable, CustomTestStringConvertible {
    var name: String
    var wire: String
    var status: Int
    var body: String
    /// Whether only the end of the connection ends it.
    var endsWithConnection = false

    var testDescription: String { name }

    static let all = [
        GoldenAnswer(
            name: "length",
            wire: "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\ntoken\n",
            status: 200,
            body: "token\n"
        ),
        GoldenAnswer(
            name: "no body",
            wire: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            status: 200,
            body: ""
        ),
        GoldenAnswer(name: "204", wire: "HTTP/1.1 204 No Content\r\n\r\n", status: 204, body: ""),
        GoldenAnswer(
            name: "chunks, extension, trailer",
            wire: "HTTP/1.1 200 OK\r\ntransfer-ENCODING: Chunked\r\n\r\n"
                + "4;x=1\r\n{\"a\"\r\nA\r\n:\"bcdefgh\"\r\n1\r\n}\r\n0\r\nX: y\r\n\r\n",
            status: 200,
            body: "{\"a\":\"bcdefgh\"}"
        ),
        GoldenAnswer(
            name: "interim answer first",
            wire: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 423 Locked\r\nContent-Length: 2\r\n\r\n{}",
            status: 423,
            body: "{}"
        ),
        GoldenAnswer(
            name: "until the connection ends",
            wire: "HTTP/1.1 200 \r\nConnection: close\r\n\r\nline\nline\n",
            status: 200,
            body: "line\nline\n",
            endsWithConnection: true
        ),
    ]
}

@Suite struct `Answers in any cut` {
    /// Everything a decoder finds in `pieces`.
    private func decode(
        _ pieces: [ArraySlice<UInt8>],
        thenEnds: Bool
    ) throws -> (status: Int?, body: String, ended: Bool) {
        var decoder = ResponseDecoder()
        var status: Int?
        var body: [UInt8] = []
        func take(_ part: ResponseDecoder.Part) -> Bool {
            switch part {
            case .head(let head): status = head.status
            case .body(let bytes): body += bytes
            case .end: return true
            }
            return false
        }
        for piece in pieces {
            decoder.append(piece)
            while let part = try decoder.next() {
                if take(part) { return (status, String(decoding: body, as: UTF8.self), true) }
            }
        }
        let ended = thenEnds ? take(try decoder.finish()) : false
        return (status, String(decoding: body, as: UTF8.self), ended)
    }

    @Test(arguments: GoldenAnswer.all)
    func `every split into two reads says the same`(answer: GoldenAnswer) throws {
        let bytes = Array(answer.wire.utf8)
        for split in 0...bytes.count {
            let found = try decode([bytes[..<split], bytes[split...]], thenEnds: answer.endsWithConnection)
            #expect(found == (answer.status, answer.body, true), "cut after byte \(split)")
        }
    }

    @Test(arguments: GoldenAnswer.all)
    func `byte by byte says the same`(answer: GoldenAnswer) throws {
        let bytes = Array(answer.wire.utf8)
        let pieces = bytes.indices.map { bytes[$0...$0] }
        let found = try decode(pieces, thenEnds: answer.endsWithConnection)
        #expect(found == (answer.status, answer.body, true))
    }

    @Test(arguments: GoldenAnswer.all.filter { $0.endsWithConnection == false })
    func `an answer cut short is never taken for complete`(answer: GoldenAnswer) throws {
        let bytes = Array(answer.wire.utf8)
        for length in 0..<bytes.count {
            #expect(throws: ConnectionFailure.closed, "cut after byte \(length)") {
                try decode([bytes[..<length]], thenEnds: true)
            }
        }
    }

    @Test func `two answers on one connection are kept apart`() throws {
        var decoder = ResponseDecoder()
        decoder.append(Array((GoldenAnswer.all[0].wire + GoldenAnswer.all[3].wire).utf8))
        var bodies: [String] = [""]
        while let part = try decoder.next() {
            switch part {
            case .head: break
            case .body(let bytes): bodies[bodies.count - 1] += String(decoding: bytes, as: UTF8.self)
            case .end: bodies.append("")
            }
        }
        #expect(bodies == ["token\n", "{\"a\":\"bcdefgh\"}", ""])
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 999 X\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\n: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: \u{0}\r\n\r\n", "HTTP/1.1 200 OK\r\nA: \u{7}\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100000000\r\n",
    ])
    func `what is not an answer of an agent is refused`(wire: String) {
        let failure = #expect(throws: ConnectionFailure.self) {
            try decode([Array(wire.utf8)[...]], thenEnds: false)
        }
        guard case .malformed = failure else {
            Issue.record("not refused as malformed: \(String(describing: failure))")
            return
        }
    }

    @Test func `a head without end is refused`() {
        #expect(throws: ConnectionFailure.self) {
            try decode([[UInt8](repeating: 0x41, count: 100_000)[...]], thenEnds: false)
        }
    }

    @Test(arguments: 0..<8)
    func `changed bytes never crash and never add to the body`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            guard let answer = GoldenAnswer.all.randomElement(using: &random) else { return }
            var bytes = Array(answer.wire.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(
                    in: 0...255,
                    using: &random
                )
            }
            let split = Int.random(in: bytes.indices, using: &random)
            let found = try? decode([bytes[..<split], bytes[split...]], thenEnds: true)
            #expect(found.map { $0.body.utf8.count <= 4 * bytes.count } ?? true)
        }
    }
}
