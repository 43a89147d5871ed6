// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

@Suite struct `The formats of tokenctl get` {
    private func answer(_ token: String, type: String = "Bearer") -> ScriptedAgent.Step {
        .answer(#"{"session":"work","access_token":"\#(token)","token_type":"\#(type)","expires_at":1}"#)
    }

    private static let over =
        ScriptedAgent.Step.answer(
            #"{"error":{"code":"login_required","message":"over","session":"work"}}"#,
            status: 401
        )

    @Test(arguments: ["~root", "~", "~+/x", "a'b", "$(id)", "`id`", "a;b", "a~b"])
    func `a shell takes nothing in a token for its own`(token: String) async throws {
        let tokenctl = try TokenctlRun(.read, answer(token))
        let result = try await Program.run(
            [
                "/bin/sh", "-c", #"eval "$("$0" get work --format env)" && printf %s "$BEARER_TOKEN""#,
                BuiltPrograms.client,
            ],
            environment: ["TOKENAGENT_SOCK": tokenctl.agent.socket, "HOME": "/home/me"]
        )
        #expect(result.all == (0, token, ""))
    }

    @Test(arguments: ["/bin/sh", "/bin/bash"])
    func `eval fails where no token is to be had, and takes the old one away`(shell: String) async throws {
        let tokenctl = try TokenctlRun(.read, Self.over)
        let script =
            #"BEARER_TOKEN=old; eval "$("$0" get work --format env 2>/dev/null)"; echo "$? ${BEARER_TOKEN-unset}""#
        let result = try await Program.run(
            [shell, "-c", script, BuiltPrograms.client],
            environment: ["TOKENAGENT_SOCK": tokenctl.agent.socket]
        )
        #expect(result.line == "4 unset")
    }

    @Test(arguments: [
        (["--format", "env"], "4"), (["--format=env"], "4"),
        (["--format", "env", "--no-wait", "--timeout", "1"], "2"),
        (["--format", "env", "--frob"], "2"), (["--format", "env", "--socket", "/nonexistent/s"], "3"),
    ])
    func `every failure is one for eval too`(options: [String], status: String) async throws {
        let tokenctl = try TokenctlRun(.read, Self.over)
        let result = try await tokenctl.run(["get", "work"] + options)
        #expect(result.standardOutput == "unset BEARER_TOKEN; (exit \(status))\n")
        #expect(String(result.status) == status && result.standardError.hasPrefix("tokenctl: "))
    }

    @Test(arguments: ["token", "json", "header", "bearer", "headers-json", "curl"])
    func `only what is evaluated says anything beside the failure`(format: String) async throws {
        let tokenctl = try TokenctlRun(.read, Self.over)
        let result = try await tokenctl("get", "work", "--format", format)
        #expect(result.all == (4, "", "tokenctl: work: over\n  Run: tokenctl login work\n"))
    }

    @Test(arguments: [
        ([], "AT", "machine h.example login oauth2 password AT"),
        (["--user", "me@example.com"], "a~b", "machine h.example login me@example.com password a~b"),
        (["--user", "#me"], "a\\\"b#", ##"machine h.example login "#me" password "a\"b#""##),
    ])
    func `netrc names machine, user and token`(options: [String], token: String, line: String) async throws {
        let tokenctl = try TokenctlRun(.read, answer(token))
        let result = try await tokenctl.run(
            ["get", "work", "--format", "netrc", "--host", "h.example"] + options
        )
        #expect(result.all == (0, line + "\n", ""))
    }

    @Test func `curl reads netrc as it was meant`() async throws {
        for token in ["AT", "a\\\"b", "a#b", "a\\\\b"] {
            let tokenctl = try TokenctlRun(.read, answer(token))
            let file = try TemporaryDirectory()
            let line = try await tokenctl("get", "work", "--format", "netrc", "--host", "127.0.0.1")
                .standardOutput
            try file.write(line, to: "netrc")
            let issuer = try await DemoIssuer.start()
            issuer.add(Route(nil, "/r") { _ in IssuerResponse() })
            let result = try await Program.run(
                ["curl", "-s", "--netrc-file", file.path("netrc"), issuer.issuer + "/r"],
                environment: ["PATH": TestEnvironment.searchPath]
            )
            #expect(result.status == 0)
            let plain = token.replacing("\\\"", with: "\"").replacing("\\\\", with: "\\")
            #expect(issuer.requests(to: "/r").map(\.basicCredentials) == ["oauth2:\(plain)"])
        }
    }

    @Test(arguments: ["bearer", "headers-json", "netrc"])
    func `a token that is bound to a key is not given where it would be dead`(format: String) async throws {
        let tokenctl = try TokenctlRun(.read, answer("AT", type: "DPoP"))
        let host = format == "netrc" ? ["--host", "h"] : []
        let result = try await tokenctl.run(["get", "work", "--format", format] + host)
        #expect(result.status == 2 && result.standardOutput.isEmpty)
        #expect(result.standardError.contains("bound to a key"))
    }

    /// Sessions whose names appear in the message by chance, and the resulting line.
    @Test(arguments: [
        ("i", "Https is not what it is.", "i: Https is not what it is"),
        ("w", "It is over.", "w: It is over"),
        ("server", "The server refused it.", "server: The server refused it"),
        ("is", "The session is over.", "is: The session is over"),
        ("z", "There is no session z.", "There is no session z"),
    ])
    func `a failure names its session, also one whose name is a word of the text`(
        session: String,
        message: String,
        line: String
    ) async throws {
        let body = #"{"error":{"code":"internal","message":"\#(message)","session":"\#(session)"}}"#
        let tokenctl = try TokenctlRun(.read, .answer(body, status: 500))
        #expect(try await tokenctl("get", session).standardError == "tokenctl: \(line)\n")
    }
}
