// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// The detection of rejected tokens by `tokenctl curl`, and its retries.
@Suite struct CurlRefusalTests {
    private static let refusal = "HTTP/1.1 401 X\r\nWWW-Authenticate: Bearer error=\"invalid_token\"\r\n"

    /// Starts a server that rejects the first token with `answer` and disconnects, and that accepts any other token.
    private func server(cuttingOff answer: String) throws -> StreamingServer {
        try StreamingServer { request, peer in
            guard request.token == "UNPROVEN" else { return peer.answer(200, "hello") }
            peer.send(answer.utf8)
            peer.leave()
        }
    }

    /// Starts a server that rejects the first token at `targets`, and whose responses name the target.
    private func server(refusing targets: String...) throws -> StreamingServer {
        try StreamingServer { request, peer in
            let isRefused = targets.contains(request.target) && request.token == "UNPROVEN"
            peer.answer(isRefused ? 401 : 200, "\(isRefused ? "no" : "yes") \(request.target)\n")
        }
    }

    private func urls(_ server: StreamingServer, _ targets: String...) -> [String] {
        targets.map { "http://127.0.0.1:\(server.port)\($0)" }
    }

    @Test(arguments: [
        "Content-Length: 100\r\n\r\nno", "Content-Length: 100\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nno",
    ])
    func `a refusal whose body breaks off is one`(rest: String) async throws {
        let server = try server(cuttingOff: Self.refusal + rest)
        let agent = try KeyBoundAgent(type: "Bearer")
        let result = try await agent.curl(["-s"] + urls(server, "/api"))
        #expect(result.all == (0, "hello", ""))
        #expect(server.requests.map(\.token) == ["UNPROVEN", "REPORTED"])
        #expect(agent.reports.count == 1)
        #expect(agent.reports.first?.contains(#""token":"UNPROVEN","status":401"#) == true)
    }

    @Test func `a refusal that breaks off and is believed ends as curl does`() async throws {
        let server = try server(cuttingOff: Self.refusal + "Content-Length: 100\r\n\r\nno")
        let agent = try KeyBoundAgent(action: "none", type: "Bearer")
        let result = try await agent.curl(["-s"] + urls(server, "/api"))
        #expect(result.all == (18, "no", ""))
        #expect(server.requests.count == 1 && agent.reports.count == 1)
    }

    @Test func `a refusal too long to be held is shown, and reported all the same`() async throws {
        let body = String(repeating: "no ", count: 1 << 19)
        let server = try StreamingServer { _, peer in peer.answer(401, body) }
        let agent = try KeyBoundAgent(type: "Bearer")
        let result = try await agent.curl(["-s"] + urls(server, "/api"))
        #expect(result.status == 0 && result.standardOutput == body && result.standardError.isEmpty)
        #expect(server.requests.count == 1 && agent.reports.count == 1)
    }

    @Test func `who ends curl with a signal wants no other try`() async throws {
        let curl = try SubstituteCurl(
            """
            heads=$(sed -n 's/^dump-header = "\\(.*\\)"$/\\1/p' "$4")
            printf 'HTTP/1.1 401 X\\r\\n\\r\\n' >"$heads"
            kill -TERM $$
            """
        )
        let agent = try KeyBoundAgent(type: "Bearer")
        #expect(try await agent.curl(["https://h/"], path: curl.path).status == 143)
        #expect(agent.reports.isEmpty)
    }

    @Test func `several requests that are all refused are all sent once more`() async throws {
        let server = try server(refusing: "/1", "/2")
        let agent = try KeyBoundAgent(type: "Bearer")
        let result = try await agent.curl(["-s"] + urls(server, "/1", "/2"))
        #expect(result.all == (0, "yes /1\nyes /2\n", ""))
        #expect(server.requests.map(\.target) == ["/1", "/2", "/1", "/2"])
        #expect(agent.reports.count == 1)
    }

    @Test func `a refusal beside an answer is reported, and what was carried out is not asked for again`()
        async throws
    {
        let server = try server(refusing: "/1")
        let agent = try KeyBoundAgent(type: "Bearer")
        let result = try await agent.curl(["-s", "-d", "x"] + urls(server, "/1", "/2"))
        #expect(result.all == (0, "no /1\nyes /2\n", ""))
        #expect(server.requests.map(\.target) == ["/1", "/2"])
        #expect(agent.reports.count == 1)
        #expect(agent.reports.first?.contains(#""body":"no /1"#) == true, "\(agent.reports)")
    }

    /// The agent's action for a rejection after output was written, and the exit status.
    @Test(arguments: [("retry", 0), ("none", 0), ("step_up", 4)])
    func `a refusal after an answer is reported`(action: String, status: Int32) async throws {
        let server = try server(refusing: "/2")
        let agent = try KeyBoundAgent(action: action, type: "Bearer")
        let result = try await agent.curl(["-s"] + urls(server, "/1", "/2"))
        #expect(result.status == status && result.standardOutput == "yes /1\nno /2\n", "\(result)")
        #expect(server.requests.count == 2 && agent.reports.count == 1)
    }

    @Test func `an answer to the same request without the token is no refusal of it`() async throws {
        let server = try StreamingServer { request, peer in
            guard request.token == nil else { return peer.answer(200, "hello") }
            peer.answer(401, "no", fields: ["WWW-Authenticate: Bearer"])
        }
        let agent = try KeyBoundAgent(type: "Bearer")
        let result = try await agent.curl(["-s", "--anyauth"] + urls(server, "/1", "/2"))
        #expect(result.all == (0, "hellohello", ""))
        #expect(agent.reports.isEmpty)
    }
}
