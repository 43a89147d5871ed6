// SPDX-License-Identifier: MIT

import Testing

@testable import AgentProtocol

@Suite struct `Requests on the wire` {
    @Test func `a request for a token is one line, a host and what is accepted`() {
        let request = TokenRequest(session: "work").request(plainText: true)
        #expect(
            request.head
                == "GET /v1/sessions/work/token HTTP/1.1\r\nHost: tokenagent\r\nAccept: text/plain\r\n\r\n"
        )
    }

    @Test func `everything that can be demanded of a token is in the query`() {
        let tokenRequest = TokenRequest(
            session: "work",
            minimumValidity: .seconds(60),
            timeout: .milliseconds(1500),
            scopes: ["a", "b&c"],
            audience: "https://api.example.com/?x=1",
            wantsIDToken: true,
            proof: TokenRequest.ProofTarget(url: "https://api.example.com/?x=1", method: "POST", nonce: "n+/")
        )
        #expect(
            tokenRequest.request(plainText: false).target
                == "/v1/sessions/work/token?min_valid=60&timeout=2&scope=a%20b%26c"
                + "&audience=https%3A%2F%2Fapi.example.com%2F%3Fx%3D1&kind=id"
                + "&dpop_url=https%3A%2F%2Fapi.example.com%2F%3Fx%3D1&dpop_method=POST&dpop_nonce=n%2B%2F"
        )
    }

    @Test(arguments: [
        ("../lock", "..%2Flock"), ("a b", "a%20b"), ("a\r\nHost: x", "a%0D%0AHost%3A%20x"),
        ("\u{E9}", "%C3%A9"),
        ("a?b#c", "a%3Fb%23c"), ("AZaz09-._~", "AZaz09-._~"),
    ])
    func `a name cannot leave its path segment`(name: String, encoded: String) {
        #expect(AgentRequest(.get, "sessions", name).target == "/v1/sessions/\(encoded)")
    }

    @Test func `a body is announced with its length`() {
        let request = AgentRequest(.post, "unlock", body: Array("{}".utf8))
        #expect(
            request.head
                == "POST /v1/unlock HTTP/1.1\r\nHost: tokenagent\r\nAccept: application/json\r\n"
                + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n"
        )
        #expect(AgentRequest(.post, "lock").head.hasSuffix("\r\nContent-Length: 0\r\n\r\n"))
    }
}
