// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

@Suite struct `tokenctl curl with tokens that are bound to a key` {
    private let issuer: DemoIssuer
    private let url: String

    init() async throws {
        issuer = try await DemoIssuer.start()
        url = issuer.issuer + "/api"
        issuer.add(Route(nil, "/api") { _ in IssuerResponse(body: Array("hello".utf8)) })
    }

    /// The `Authorization` and `DPoP` headers of each request.
    private var credentials: [String] {
        issuer.requests(to: "/api").map {
            "\($0.header("Authorization") ?? "none"), \($0.header("DPoP") ?? "none")"
        }
    }

    private func refuse(_ challenge: String, nonce: String? = nil, times: Int = 1) {
        let headers = [("WWW-Authenticate", challenge)] + (nonce.map { [("DPoP-Nonce", $0)] } ?? [])
        issuer.queue(
            IssuerResponse(status: 401, headers: headers, body: Array("no".utf8)),
            for: "/api",
            times: times
        )
    }

    @Test(arguments: ["DPoP", "dpop", "DPOP"])
    func `token and proof of one answer go together`(type: String) async throws {
        let agent = try KeyBoundAgent(type: type)
        let result = try await agent.curl(["-s", "-d", "x", url + "?q=1"])
        #expect(result.all == (0, "hello", ""))
        #expect(credentials == ["DPoP TOKEN1, pro.of.1"])
        #expect(agent.proofs == ["POST \(url)"])
        #expect(agent.reports.isEmpty)
    }

    @Test(
        .holds("O54"),
        arguments: [
            #"DPoP error="use_dpop_nonce", error_description="Resource server requires nonce in DPoP proof""#,
            #"DPoP algs="ES256 PS256", error="use_dpop_nonce""#, "dpop Error=use_dpop_nonce",
            #"Bearer realm="a, DPoP error=\"x\"", error="invalid_token", DPoP error = "use_dpop_nonce""#,
            #"Negotiate, DPoP error="use_dpop_nonce",algs="ES256", Basic realm="b""#,
        ]
    )
    func `a nonce is taken up at once, and the token is not said to be refused`(
        challenge: String
    ) async throws {
        refuse(challenge, nonce: "-n_1.~/")
        let agent = try KeyBoundAgent()
        let result = try await agent.curl(["-s", "-i", "--data-binary", "@-", url], input: "the body")
        #expect(result.status == 0 && result.standardError.isEmpty)
        #expect(result.standardOutput.hasPrefix("HTTP/1.1 200"))
        #expect(result.standardOutput.contains("401") == false)
        #expect(credentials == ["DPoP TOKEN1, pro.of.1", "DPoP TOKEN2, pro.of.2"])
        #expect(agent.proofs == ["POST \(url)", "POST \(url) -n_1.~/"])
        #expect(agent.reports.isEmpty)
        #expect(issuer.requests(to: "/api").map(\.body) == Array(repeating: Array("the body".utf8), count: 2))
    }

    @Test func `a server that never has enough of nonces is asked twice`() async throws {
        refuse(#"DPoP error="use_dpop_nonce""#, nonce: "n", times: 5)
        let agent = try KeyBoundAgent()
        let result = try await agent.curl(["-s", "-w", "%{http_code}", url])
        #expect(result.all == (0, "no401", ""))
        #expect(credentials.count == 2)
        #expect(agent.reports.isEmpty)
    }

    @Test func `any other refusal is reported, and the fresh token has a proof of its own`() async throws {
        refuse(#"DPoP error="invalid_token""#, nonce: "n", times: 5)
        let agent = try KeyBoundAgent()
        let result = try await agent.curl(["-s", "-w", "%{http_code}", url])
        #expect(result.all == (0, "no401", ""))
        #expect(credentials == ["DPoP TOKEN1, pro.of.1", "DPoP TOKEN2, pro.of.2"])
        #expect(agent.proofs == ["GET \(url)", "GET \(url) n"])
        #expect(agent.reports.count == 2)
        #expect(agent.reports.first?.contains(#""token":"TOKEN1","status":401"#) == true)
        #expect(agent.reports.last?.contains(#""token":"TOKEN2","status":401"#) == true)
    }

    @Test func `first the nonce, then the token`() async throws {
        refuse(#"DPoP error="use_dpop_nonce""#, nonce: "n1")
        refuse(#"DPoP error="invalid_token""#)
        let agent = try KeyBoundAgent()
        let result = try await agent.curl(["-s", url])
        #expect(result.all == (0, "hello", ""))
        #expect(credentials.count == 3 && credentials.last == "DPoP TOKEN3, pro.of.3")
        #expect(agent.proofs == ["GET \(url)", "GET \(url) n1", "GET \(url) n1"])
        #expect(agent.reports.count == 1)
    }

    @Test(arguments: [
        (#"DPoP error="use_dpop_nonce""#, nil), (#"DPoP error="use_dpop_nonce""#, ""),
        (#"DPoP error="use_dpop_nonce""#, "a b"), (#"DPoP error="use_dpop_nonce""#, #"a"b"#),
        (#"DPoP error="use_dpop_nonce""#, String(repeating: "n", count: 513)),
        (#"Bearer error="use_dpop_nonce""#, "n"), (#"DPoP realm="error=use_dpop_nonce""#, "n"),
        (#"DPoP error="use_dpop_nonce_not""#, "n"), ("", "n"),
    ])
    func `what is no demand for a nonce is a refusal`(challenge: String, nonce: String?) async throws {
        refuse(challenge, nonce: nonce)
        let agent = try KeyBoundAgent(action: "none")
        let result = try await agent.curl(["-s", url])
        #expect(result.all == (0, "no", ""))
        #expect(credentials.count == 1)
        #expect(agent.reports.count == 1)
    }

    @Test func `token and proof stand neither in arguments nor in the environment`() async throws {
        let curl = try SubstituteCurl(
            #"cat "$4"; tr '\0' '\n' </proc/$$/cmdline; tr '\0' '\n' </proc/$$/environ"#
        )
        let agent = try KeyBoundAgent()
        let output = try await agent.curl(["https://h/a"], path: curl.path).standardOutput
        let both = "header = \"Authorization: DPoP TOKEN1\"\nheader = \"DPoP: pro.of.1\"\n"
        #expect(output.hasPrefix(both))
        let rest = output.dropFirst(both.count)
        #expect(rest.contains("--config") && rest.contains("TOKENAGENT_SOCK="))
        #expect(rest.contains("TOKEN1") == false && rest.contains("pro.of.1") == false)
    }

    @Test func `a redirect gets the same proof, and another host no token`() async throws {
        let other = try await DemoIssuer.start()
        issuer.queue(.redirect(to: url), for: "/api")
        issuer.queue(.redirect(to: other.issuer + "/there"), for: "/api")
        let agent = try KeyBoundAgent()
        _ = try await agent.curl(["-s", "-L", url])
        #expect(credentials == ["DPoP TOKEN1, pro.of.1", "DPoP TOKEN1, pro.of.1"])
        let there = try #require(other.requests(to: "/there").first)
        #expect(there.header("Authorization") == nil)
        #expect(agent.proofs == ["GET \(url)"])
    }
}
