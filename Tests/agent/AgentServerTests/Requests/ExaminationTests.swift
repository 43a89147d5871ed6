// SPDX-License-Identifier: MIT

import AgentProtocol
import TestSupport
import Testing
import Text

@testable import AgentServer

/// Looks at issuers that no session uses yet.
@Suite(.timeLimit(.minutes(10)))
struct ExaminationTests {
    private static let request = SocketPeer.request(
        "POST",
        "/v1/examine",
        body: #"{"issuer":"https://id.example","ca_file":"/ca.pem"}"#
    )

    private func waits(for issuers: HeldIssuers, _ count: Int) async throws -> Bool {
        try await Polling.until { issuers.asked.count == count }
    }

    @Test func `the agent's own user is told what an issuer offers, also while the agent is locked`()
        async throws
    {
        let issuers = HeldIssuers()
        let agent = try await AgentHarness(diagnostics: issuers)
        let peer = try agent.peer()
        _ = try await peer.exchange("POST", "/v1/lock")
        try peer.send(Self.request)
        #expect(try await waits(for: issuers, 1))
        #expect(issuers.asked == [.issuer("https://id.example")])
        issuers.answer(
            .success(
                ServerProbeMessage {
                    $0.flows = ["device"]
                    $0.features = ["pkce"]
                }
            )
        )
        let answer = try await peer.answer()
        #expect(answer.status == 200)
        #expect(answer.body == #"{"flows":["device"],"features":["pkce"]}"# + "\n")
        await agent.stop()
    }

    @Test func `why an issuer cannot be used is passed on`() async throws {
        let issuers = HeldIssuers()
        let agent = try await AgentHarness(diagnostics: issuers)
        let peer = try agent.peer()
        try peer.send(Self.request)
        #expect(try await waits(for: issuers, 1))
        let failure = RequestFailure(code: .misconfigured, message: "answered 404", remedy: .set("it"))
        issuers.answer(.failure(failure))
        let answer = try await peer.answer()
        #expect(answer.status == 400)
        #expect(
            answer.body
                == #"{"error":{"code":"misconfigured","message":"answered 404","remedy":"it","remedy_kind":"set"}}"#
                + "\n"
        )
        await agent.stop()
    }

    @Test func `a resource may be looked at with the issuer to take, or without`() async throws {
        let issuers = HeldIssuers()
        let agent = try await AgentHarness(diagnostics: issuers)
        let bodies = [
            #"{"resource":"https://mcp.example/mcp"}"#,
            #"{"resource":"https://mcp.example/mcp","issuer":"https://id.example"}"#,
        ]
        var peers: [SocketPeer] = []
        for (number, body) in zip(1..., bodies) {
            let peer = try agent.peer()
            try peer.send(SocketPeer.request("POST", "/v1/examine", body: body))
            #expect(try await waits(for: issuers, number))
            peers.append(peer)
        }
        #expect(
            issuers.asked == [
                .resource("https://mcp.example/mcp", issuer: nil),
                .resource("https://mcp.example/mcp", issuer: "https://id.example"),
            ]
        )
        for peer in peers {
            issuers.answer(.success(ServerProbeMessage()))
            #expect(try await peer.answer().status == 200)
        }
        await agent.stop()
    }

    @Test(
        .holds("191"),
        arguments: [
            "", "{}", #"{"resource":1}"#, #"{"issuer":7}"#, #"{"issuer":"x","ca_file":[]}"#, #"{"url":"x"}"#,
            "[]",
        ]
    )
    func `a request that is no examination is refused`(body: String) async throws {
        let agent = try await AgentHarness(diagnostics: HeldIssuers())
        let answer = try await agent.peer().exchange("POST", "/v1/examine", body: body)
        #expect(answer.status == 400)
        #expect(answer.body.contains("\"bad_request\""))
        await agent.stop()
    }

    @Test(.holds("191")) func `four issuers are looked at at a time, and one that is done makes room`()
        async throws
    {
        let issuers = HeldIssuers()
        let agent = try await AgentHarness(diagnostics: issuers)
        var peers: [SocketPeer] = []
        for number in 1...4 {
            let peer = try agent.peer()
            try peer.send(Self.request)
            #expect(try await waits(for: issuers, number))
            peers.append(peer)
        }
        let late = try agent.peer()
        try late.send(Self.request)
        let refused = try await late.answer()
        #expect(refused.status == 503)
        #expect(refused.head.lowercased().contains("retry-after: 10"))
        // The look for a peer that leaves goes on.
        peers[3].leave()
        for peer in peers.dropLast() {
            issuers.answer(.success(ServerProbeMessage()))
            #expect(try await peer.answer().status == 200)
        }
        #expect(issuers.asked.count == 1)
        try late.send(Self.request)
        #expect(try await waits(for: issuers, 2))
        for _ in 0..<2 { issuers.answer(.success(ServerProbeMessage())) }
        #expect(try await late.answer().status == 200)
        await agent.stop()
    }
}
