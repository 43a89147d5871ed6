// SPDX-License-Identifier: MIT

import Glibc
import NIOCore
import TestSupport
import Testing

@testable import AgentServer

/// Text whose comparison as Unicode takes quadratic time, in every place where a peer can put it.
@Suite(.timeLimit(.minutes(10)))
struct HostileTextTests {
    /// Returns alternating marks above and below the base character, which normalization is slow to sort.
    private static func marks(_ count: Int) -> String {
        String(repeating: "\u{301}\u{323}", count: count / 4)
    }

    private static func encoded(_ text: String) -> String {
        text.utf8.map { "%" + String($0, radix: 16, uppercase: true) }.joined()
    }

    private static let query = encoded(marks(1_300))
    private static let body = marks(62_000)
    private static let token = "/v1/sessions/work/token"

    /// Requests with the text, each with the place where it contains it.
    private static let requests: [(place: String, text: String)] = [
        ("a member's name", SocketPeer.request("POST", "/v1/unlock", body: "{\"\(body)\":1}")),
        ("two members' names", SocketPeer.request("POST", "/v1/unlock", body: twoNames)),
        ("a passphrase", SocketPeer.request("POST", "/v1/unlock", body: "{\"passphrase\":\"\(body)\"}")),
        ("a flow", SocketPeer.request("POST", "/v1/sessions/work/login", body: "{\"flow\":\"\(body)\"}")),
        ("a way to unlock", SocketPeer.request("POST", "/v1/vault/slots", body: "{\"type\":\"\(body)\"}")),
        ("a token", report("\"token\":\"\(body)\",\"status\":401")),
        ("a scope", report("\"token\":\"x\",\"status\":401,\"scope\":\"\(body)\"")),
        (
            "a challenge",
            report("\"token\":\"x\",\"status\":401,\"www_authenticate\":\"error=\\\"\(body)\\\"\"")
        ),
        ("a refusal", report("\"token\":\"x\",\"status\":401,\"body\":\"{\\\"code\\\":\\\"\(body)\\\"}\"")),
        ("Accept", SocketPeer.request("GET", token, fields: "Accept: \(marks(8_000))\r\n")),
        (
            "pieces of Accept",
            SocketPeer.request("GET", token, fields: "Accept: ,\(marks(4_000)),\(marks(3_900))\r\n")
        ),
        ("Connection", SocketPeer.request("GET", token, fields: "Connection: a,\(marks(8_000))\r\n")),
        ("Expect", SocketPeer.request("GET", token, fields: "Expect: \(marks(8_000))\r\n")),
        ("Host", "GET \(token) HTTP/1.1\r\nHost: tokenagent\(marks(8_000))\r\n\r\n"),
        ("a session's name", SocketPeer.request("GET", "/v1/sessions/\(query)/token")),
        ("a path", SocketPeer.request("GET", "/\(query)/\(query.prefix(100))")),
        ("a parameter", SocketPeer.request("GET", token + "?\(query)=1&\(query)=2")),
        ("an audience", SocketPeer.request("GET", token + "?audience=\(query)")),
        ("a number", SocketPeer.request("GET", token + "?min_valid=\(query)")),
        ("scopes", SocketPeer.request("GET", token + "?scope=\(query)")),
        ("a proof's address", SocketPeer.request("GET", token + "?dpop_url=\(query)")),
        ("an event filter", SocketPeer.request("GET", "/v1/events?session=\(query)")),
        ("an audit query", SocketPeer.request("GET", "/v1/audit?\(query)=1")),
    ]

    private static let twoNames = "{\"\(marks(31_000))\":1,\"\(marks(30_000))\":2}"

    private static func report(_ members: String) -> String {
        SocketPeer.request("POST", "/v1/sessions/work/report", body: "{\(members)}")
    }

    @Test(.holds("8"), arguments: requests.indices)
    func `no text of a peer costs the loop more than its length`(index: Int) async throws {
        let (place, text) = Self.requests[index]
        let agent = try await AgentHarness.configured { configuration, directory in
            configuration.sockets = [
                RestrictedSocket(path: directory.path("shared.sock"), sessions: [AgentHarness.work])
            ]
        }
        try await agent.logIn()
        for path in [agent.path, agent.directory.path("shared.sock")] {
            let peer = try SocketPeer(path)
            let before = await agent.loopTime()
            try peer.send(text)
            let answer = try await peer.streamHead()
            #expect(!answer.hasPrefix("HTTP/1.1 5"), "\(place): \(answer)")
            let cost = await agent.loopTime() - before
            // Measured in a debug build: at most 22 ms.
            #expect(cost < .milliseconds(100), "\(place)")
            Attachment.record("\(place): \(cost)", named: "figure")
        }
        await agent.stop()
    }
}

extension AgentHarness {
    /// Returns the processor time that the event loop's thread has used, which does not depend on the machine's load.
    func loopTime() async -> Duration {
        await runtime.agent.threadTime
    }
}

extension SessionAgent {
    fileprivate var threadTime: Duration { ThreadTime.now }
}
