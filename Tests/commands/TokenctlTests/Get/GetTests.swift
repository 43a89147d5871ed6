// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import TestSupport
import Testing
import Text

@Suite struct `tokenctl get` {
    private static let answer = #"""
        {"session":"work","access_token":"a.b-c_d~e+f/g=","token_type":"bearer","expires_at":1700000000,\#
        "expires_in":60,"scope":["x"]}
        """#

    @Test(.holds("126")) func `standard output is the token and a line feed, nothing else`() async throws {
        let tokenctl = try TokenctlRun(.read, .answer("AT\n", type: "text/plain"))
        let result = try await tokenctl("get", "work")
        #expect(result.all == (0, "AT\n", ""))
        #expect(tokenctl.agent.requests.first?.contains("\r\nAccept: text/plain\r\n") == true)
    }

    @Test(arguments: [
        (["--min-valid", "5m"], "?min_valid=300"), (["--min-valid=90"], "?min_valid=90"),
        (["--timeout", "1500ms"], "?timeout=2"), (["--no-wait"], "?timeout=0"),
        (["--scope", "a", "--scope=b"], "?scope=a%20b"), (["--audience", "x y"], "?audience=x%20y"),
        (["--id-token"], "?kind=id"), ([], ""),
    ])
    func `options become the query, before and after the name`(options: [String], query: String) async throws
    {
        for arguments in [["get"] + options + ["work"], ["get", "work"] + options] {
            let agent = try ScriptedAgent(.read, .answer("AT\n", type: "text/plain"))
            let result = try await Program.run(
                [BuiltPrograms.client] + arguments + ["--socket", agent.socket],
                environment: [:]
            )
            #expect(result.status == 0)
            #expect(
                agent.requests.first?.hasPrefix("GET /v1/sessions/work/token\(query) HTTP/1.1\r\n") == true
            )
        }
    }

    @Test(arguments: [
        ("header", "Authorization: Bearer a.b-c_d~e+f/g="), ("env", "BEARER_TOKEN=a.b-c_d~e+f/g="),
        ("curl", "header = \"Authorization: Bearer a.b-c_d~e+f/g=\""), ("token", "a.b-c_d~e+f/g="),
        ("bearer", "Bearer a.b-c_d~e+f/g="), ("headers-json", #"{"Authorization":"Bearer a.b-c_d~e+f/g="}"#),
    ])
    func `every format is one line`(format: String, line: String) async throws {
        let body = format == "token" ? "a.b-c_d~e+f/g=\n" : Self.answer
        let tokenctl = try TokenctlRun(.read, .answer(body))
        let result = try await tokenctl("get", "work", "--format", format)
        #expect(result.all == (0, line + "\n", ""))
    }

    @Test func `json is the agent's answer with the expiry as a date and the issuer`() async throws {
        let status = #"{"session":"work","issuer":"https://id.example.com","account":"me","state":"ready"}"#
        let tokenctl = try TokenctlRun(.read, .answer(Self.answer), .read, .answer(status))
        let result = try await tokenctl("get", "work", "--json")
        let object = try JSONValue(parsing: result.standardOutput.utf8).object
        #expect(object?["access_token"]?.string == "a.b-c_d~e+f/g=")
        #expect(object?["expires_at"]?.integer == 1_700_000_000)
        #expect(object?["expires_at_rfc3339"]?.string == "2023-11-14T22:13:20Z")
        #expect(object?["issuer"]?.string == "https://id.example.com" && object?["account"]?.string == "me")
    }

    @Test func `the mail formats name the user`() async throws {
        let tokenctl = try TokenctlRun(.read, .answer(#"{"access_token":"AT","expires_at":1}"#))
        let xoauth2 = try await tokenctl(
            "get",
            "mail",
            "--format",
            "sasl-xoauth2",
            "--user",
            "me@example.com"
        )
        // user=me@example.com^Aauth=Bearer AT^A^A
        #expect(xoauth2.line == "dXNlcj1tZUBleGFtcGxlLmNvbQFhdXRoPUJlYXJlciBBVAEB")
        let bearer = try await tokenctl("get", "mail", "--format", "sasl-oauthbearer", "--user", "a=b,c")
        // n,a=a=3Db=2Cc,^Aauth=Bearer AT^A^A
        #expect(bearer.line == "bixhPWE9M0RiPTJDYywBYXV0aD1CZWFyZXIgQVQBAQ==")
    }

    @Test(.holds("127"), arguments: FailureCode.allCases.filter { $0 != .noAgent })
    func `every failure has its exit status and one line`(code: FailureCode) async throws {
        let body =
            #"{"error":{"code":"\#(code.rawValue)","message":"it is so","session":"work","remedy":"do that"}}"#
        let tokenctl = try TokenctlRun(.read, .answer(body, status: code.httpStatus))
        let result = try await tokenctl("get", "work")
        #expect(result.status == code.exitStatus)
        #expect(result.standardOutput.isEmpty)
        #expect(result.standardError == "tokenctl: work: it is so\n  Run: do that\n")
    }

    @Test(.holds("127")) func `with json the failure is on standard output too`() async throws {
        let body = #"{"error":{"code":"login_required","message":"over","session":"work"}}"#
        let tokenctl = try TokenctlRun(.read, .answer(body, status: 401))
        let result = try await tokenctl("get", "work", "--json")
        #expect(result.status == 4)
        #expect(result.standardError == "tokenctl: work: over\n  Run: tokenctl login work\n")
        let error = try JSONValue(parsing: result.standardOutput.utf8).object?["error"]?.object
        #expect(error?["code"]?.string == "login_required")
        #expect(error?["remedy"]?.string == "tokenctl login work")
    }

    @Test func `no agent is status 3 and says how to start one`() async throws {
        let result = try await Program.run(
            [BuiltPrograms.client, "get", "work", "--no-autostart", "--socket", "/nonexistent/sock"],
            environment: [:]
        )
        #expect(result.status == 3)
        #expect(
            result.standardError.hasPrefix("tokenctl: cannot connect to the agent at /nonexistent/sock: ")
        )
        #expect(result.standardError.hasSuffix("\n  Run: tokenagent\n"))
    }

    @Test(arguments: [
        ["get", ""], ["get", "a", "b"], ["get", "a", "--frob"], ["get", "a", "--min-valid", "soon"],
        ["get", "a", "--format", "xml"], ["get", "a", "--timeout"],
        ["get", "a", "--no-wait", "--timeout", "5"],
        ["get", "a", "--timeout", "5", "--no-wait"], ["get", "a", "--format"],
        ["get", "a", "--format", "sasl-xoauth2"], ["get", "a", "--user", "me"], ["frob"], ["--frob"],
        ["get", "a", "--format", "netrc"], ["get", "a", "--format", "netrc", "--host", "h:443"],
        ["get", "a", "--format", "netrc", "--host", "h", "--user", "a b"], ["get", "a", "--host", "h"],
        ["vault", "frob"],
        ["status", "a", "b"], ["logout"], ["logout", "a", "--all"], ["completions", "tcsh"],
    ])
    func `wrong usage is status 2, one line, and no request`(arguments: [String]) async throws {
        let agent = try ScriptedAgent(.read, .answer("AT\n"))
        let result = try await Program.run(
            [BuiltPrograms.client] + arguments,
            environment: ["TOKENAGENT_SOCK": agent.socket, "TOKENAGENT_AUTOSTART": "0"]
        )
        #expect(result.status == 2)
        #expect(result.standardOutput.isEmpty)
        #expect(result.standardError.hasPrefix("tokenctl: "))
        #expect(result.standardError.split(separator: "\n").count <= 2)
        #expect(agent.requests.isEmpty)
    }

    @Test func `without a name, wrong usage leads to the sessions that are there`() async throws {
        let agent = try ScriptedAgent(.read, .answer(#"{"sessions":[{"session":"work"}]}"#))
        let result = try await Program.run(
            [BuiltPrograms.client, "get"],
            environment: ["TOKENAGENT_SOCK": agent.socket, "TOKENAGENT_AUTOSTART": "0"]
        )
        #expect(result.status == 2 && result.standardOutput.isEmpty)
        #expect(result.standardError.hasPrefix("tokenctl: "), "\(result)")
        #expect(agent.requests.count == 1)
    }

    @Test(arguments: ["", "\n", "two words\n", "a\nb\n", "no line feed", "\u{1B}[2J\n", "\u{E9}\n"])
    func `an answer that is not a token is never printed`(body: String) async throws {
        let tokenctl = try TokenctlRun(.read, .answer(body, type: "text/plain"))
        let result = try await tokenctl("get", "work")
        #expect(result.status == 1)
        #expect(result.standardOutput.isEmpty)
    }

    @Test(arguments: [#"a\nb"#, #"a b"#, #"\u001b[2J"#, #"é"#, ""])
    func `a token that would break a header is never printed`(token: String) async throws {
        let tokenctl = try TokenctlRun(.read, .answer(#"{"access_token":"\#(token)","expires_at":1}"#))
        let result = try await tokenctl("get", "work", "--format", "header")
        #expect(result.status == 1)
        #expect(result.standardOutput.isEmpty)
    }

    @Test(.holds("126")) func `a full disk and a closed standard output are failures`() async throws {
        for redirection in [">/dev/full", ">&-"] {
            let tokenctl = try TokenctlRun(.read, .answer("AT\n", type: "text/plain"))
            let result = try await Program.run(
                ["/bin/sh", "-c", "\(BuiltPrograms.client) get work \(redirection)"],
                environment: ["TOKENAGENT_SOCK": tokenctl.agent.socket]
            )
            #expect(result.status == 1)
            #expect(result.standardError.hasPrefix("tokenctl: cannot write to standard output: "))
        }
    }

    @Test(.holds("126")) func `a reader that has gone is a failure, not a signal`() async throws {
        let tokenctl = try TokenctlRun(.read, .answer("AT\n", type: "text/plain"))
        let result = try await Program.run(
            ["/bin/bash", "-c", "exec 3> >(exit); wait $!; exec \(BuiltPrograms.client) get work >&3"],
            environment: ["TOKENAGENT_SOCK": tokenctl.agent.socket]
        )
        #expect(result.status == 1)
        #expect(result.standardError == "tokenctl: cannot write to standard output: Broken pipe\n")
    }

    @Test(.holds("129")) func `an interrupt ends it with status 130`() async throws {
        let tokenctl = try TokenctlRun(.read, .hang)
        let program = try Program(
            [BuiltPrograms.client, "get", "work"],
            environment: ["TOKENAGENT_SOCK": tokenctl.agent.socket]
        )
        _ = try await Polling.value(within: .seconds(10)) { tokenctl.agent.requests.isEmpty ? nil : true }
        kill(program.pid, SIGINT)
        #expect(try await program.finish().status == 130)
    }
}
