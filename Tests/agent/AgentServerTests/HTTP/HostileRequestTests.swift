// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import AgentServer

/// Bytes no honest client sends.
@Suite(.timeLimit(.minutes(10)))
struct HostileRequestTests {
    /// A source of chance that is the same in every run.
    private struct Dice: RandomNumberGenerator {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15

        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
    }

    private static let bodies = [
        "", "{", "}", "[]", "null", "\"\"", "{\"a\":", "{\"local\":1}", "{\"local\":true,\"local\":false}",
        "{\"local\":true,\"x\":1}", "{\"rejected_token\":1e999999}", "{\"rejected_token\":\"\\ud800\"}",
        "{\"rejected_token\":\"\u{0}\"}", "{\"token\":\"x\",\"status\":99999999999999999999999}",
        "{\"token\":\"x\",\"status\":-1}", "{\"token\":[],\"status\":401}", "\u{FEFF}{}", "{}{}", "{} x",
        String(repeating: "[", count: 30_000), String(repeating: "{\"a\":", count: 10_000),
        "{\"rejected_token\":\"" + String(repeating: "x", count: 60_000) + "\"}", "{\"flow\":\"../../x\"}",
        "{\"flow\":\"password\",\"username\":\"\\u0000\"}", "{\"passphrase\":{}}", "{\"type\":\"nothing\"}",
    ]
    private static let targets = [
        "/v1/sessions/work/refresh", "/v1/sessions/work/report", "/v1/sessions/work/logout", "/v1/unlock",
        "/v1/vault/slots", "/v1/sessions/work/login/99999999999999999999", "/v1/sessions/..%2f..%2fx/refresh",
    ]

    /// More than two hundred requests: broken bodies for every route that takes one, and broken heads.
    private static let corpus: [[UInt8]] = {
        var all = targets.flatMap { target in
            bodies.map { Array(SocketPeer.request("POST", target, body: $0).utf8) }
        }
        let honest = Array(SocketPeer.request("GET", "/v1/sessions/work/token?min_valid=3").utf8)
        var dice = Dice()
        for _ in 0..<120 {
            var bytes = honest
            for _ in 0..<Int.random(in: 1...4, using: &dice) {
                let place = Int.random(in: 0..<bytes.count, using: &dice)
                switch Int.random(in: 0..<4, using: &dice) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &dice)
                case 1: bytes.insert(contentsOf: [0, 255, 13, 10].shuffled(using: &dice), at: place)
                case 2: bytes.removeSubrange(place..<min(bytes.count, place + 7))
                default: bytes.insert(contentsOf: bytes[..<place], at: place)
                }
                if bytes.isEmpty { bytes = [0] }
            }
            all.append(bytes)
        }
        return all
    }()

    @Test(.holds("8")) func `each is refused or closed, and the agent goes on`() async throws {
        let agent = try await AgentHarness()
        #expect(Self.corpus.count > 200)
        let honest = try agent.peer()
        #expect(try await honest.exchange("GET", "/v1").status == 200)
        for bytes in Self.corpus {
            let peer = try agent.peer()
            try? peer.send(bytes)
            peer.endSending()
            let answer = try await peer.rest()
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 "), "\(answer)")
            #expect(!answer.hasPrefix("HTTP/1.1 5") || answer.hasPrefix("HTTP/1.1 50"), "\(answer)")
            #expect(!answer.contains("\"internal\""), "\(String(decoding: bytes.prefix(200), as: UTF8.self))")
        }
        #expect(try await honest.exchange("GET", "/v1").status == 200)
        Attachment.record("\(Self.corpus.count) requests refused or closed", named: "figure")
        await agent.stop()
    }

    @Test(
        .holds("7"),
        arguments: [
            "GET /\(String(repeating: "a", count: 5_000)) HTTP/1.1\r\nHost: tokenagent\r\n\r\n",
            "GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nX: \(String(repeating: "b", count: 9_000))\r\n\r\n",
            "POST /v1/lock HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: 65537\r\n\r\n",
            "POST /v1/lock HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: 4294967295\r\n\r\n",
        ]
    )
    func `what is too long ends its own connection and no other`(text: String) async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let neighbour = try agent.peer()
        #expect(try await neighbour.exchange("GET", "/v1/sessions/work/token").status == 200)
        let peer = try agent.peer()
        let start = ContinuousClock.now
        try? peer.send(text)
        let answer = try await peer.rest()
        Attachment.record("closed after \(ContinuousClock.now - start)", named: "figure")
        #expect(["413", "414", "431"].contains(String(answer.dropFirst(9).prefix(3))), "\(answer)")
        #expect(answer.contains("\r\nConnection: close\r\n"))
        #expect(try await neighbour.exchange("GET", "/v1/sessions/work/token").body.contains("token-1"))
        await agent.stop()
    }
}
