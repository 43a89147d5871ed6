// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@Suite struct `tokenctl get with a proof of possession` {
    private static let answer = #"""
        {"session":"work","access_token":"a.b-c_d~e+f/g=","token_type":"dpop","expires_at":1700000000,\#
        "expires_in":60,"scope":["x"],"dpop_proof":"h-_.p.s"}
        """#

    @Test(arguments: [
        (["--dpop-url", "https://a.example/x?y=1"], "?dpop_url=https%3A%2F%2Fa.example%2Fx%3Fy%3D1"),
        (["--dpop-url=http://[::1]/"], "?dpop_url=http%3A%2F%2F%5B%3A%3A1%5D%2F"),
        (["--dpop-url", "u", "--dpop-method", "POST"], "?dpop_url=u&dpop_method=POST"),
        (["--dpop-method=POST", "--dpop-url=u"], "?dpop_url=u&dpop_method=POST"),
        (["--dpop-url", "u", "--dpop-nonce", "-a=&"], "?dpop_url=u&dpop_nonce=-a%3D%26"),
        (["--dpop-nonce", "-a=&", "--dpop-url", "u"], "?dpop_url=u&dpop_nonce=-a%3D%26"),
        (
            ["--dpop-url", "u", "--dpop-method", "get", "--dpop-nonce", "n", "--audience", "a"],
            "?audience=a&dpop_url=u&dpop_method=get&dpop_nonce=n"
        ),
    ])
    func `options become the query, in every order`(options: [String], query: String) async throws {
        for arguments in [["get"] + options + ["work"], ["get", "work"] + options] {
            let agent = try ScriptedAgent(.read, .answer(Self.answer))
            let result = try await Program.run(
                [BuiltPrograms.client] + arguments + ["--format", "header", "--socket", agent.socket],
                environment: [:]
            )
            #expect(result.status == 0, "\(result.standardError)")
            #expect(
                agent.requests.first?.hasPrefix("GET /v1/sessions/work/token\(query) HTTP/1.1\r\n") == true
            )
        }
    }

    @Test(arguments: [
        ("header", "Authorization: DPoP a.b-c_d~e+f/g=\nDPoP: h-_.p.s\n"),
        ("curl", "header = \"Authorization: DPoP a.b-c_d~e+f/g=\"\nheader = \"DPoP: h-_.p.s\"\n"),
        (
            "json",
            #"{"session":"work","access_token":"a.b-c_d~e+f/g=","token_type":"dpop","expires_at":1700000000,"#
                + #""expires_in":60,"scope":["x"],"dpop_proof":"h-_.p.s","#
                + #""expires_at_rfc3339":"2023-11-14T22:13:20Z","issuer":"https://id.example.com"}"# + "\n"
        ),
    ])
    func `the proof is printed with the token`(format: String, output: String) async throws {
        let status = #"{"session":"work","issuer":"https://id.example.com"}"#
        let tokenctl = try TokenctlRun(.read, .answer(Self.answer), .read, .answer(status))
        let result = try await tokenctl("get", "work", "--dpop-url", "https://a/", "--format", format)
        #expect(result.all == (0, output, ""))
    }

    @Test func `without a URL there is one line as ever`() async throws {
        let tokenctl = try TokenctlRun(.read, .answer(Self.answer))
        let result = try await tokenctl("get", "work", "--format", "header")
        #expect(result.all == (0, "Authorization: DPoP a.b-c_d~e+f/g=\n", ""))
    }

    @Test(arguments: [
        ["--dpop-url", "https://a/"], ["--dpop-url", "https://a/", "--format", "token"],
        ["--dpop-url", "https://a/", "--format", "env"],
        ["--dpop-url", "https://a/", "--format", "sasl-xoauth2", "--user", "me"],
        ["--dpop-url", "https://a/", "--format", "sasl-oauthbearer", "--user", "me"],
        ["--dpop-url", "https://a/", "--format", "json", "--id-token"],
        ["--dpop-method", "POST", "--format", "json"], ["--dpop-nonce", "n", "--format", "json"],
        ["--json", "--dpop-url"],
    ])
    func `where there is no place for a proof nothing is asked`(options: [String]) async throws {
        let agent = try ScriptedAgent(.read, .answer(Self.answer))
        let result = try await Program.run(
            [BuiltPrograms.client, "get", "work"] + options,
            environment: ["TOKENAGENT_SOCK": agent.socket, "TOKENAGENT_AUTOSTART": "0"]
        )
        #expect(result.status == 2)
        #expect(result.standardError.hasPrefix("tokenctl: "))
        #expect(result.standardError.split(separator: "\n").count <= 2)
        #expect(agent.requests.isEmpty)
    }

    @Test(arguments: [
        "", #","dpop_proof":"""#, #","dpop_proof":"a\nb""#, #","dpop_proof":"é""#, #","dpop_proof":7"#,
    ])
    func `a token without its proof is not printed`(member: String) async throws {
        for format in ["header", "curl", "json"] {
            let body = #"{"access_token":"AT","token_type":"DPoP","expires_at":1\#(member)}"#
            let tokenctl = try TokenctlRun(.read, .answer(body), .read, .answer("{}"))
            let result = try await tokenctl("get", "work", "--dpop-url", "https://a/", "--format", format)
            #expect(result.status == 1)
            #expect(result.standardOutput.isEmpty)
            #expect(result.standardError.contains("contains no proof of possession"))
        }
    }
}
