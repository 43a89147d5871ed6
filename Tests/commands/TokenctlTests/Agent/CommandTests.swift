// SPDX-License-Identifier: MIT

import AgentProtocol
import TestSupport
import Testing
import Text

@Suite struct `The other commands` {
    private static let session = #"""
        {"session":"work","state":"retrying","kind":"oidc","issuer":"https://id.example.com","expires_at":1700000000,\#
        "expires_in":3540,"next_refresh_in":30,"scope":["a","b"],"rotation":"rotates","storage":"durable",\#
        "refreshes":3,"failures":{"network":2},"last_error":{"class":"network","message":"no route","at":1700000000},\#
        "remedy":"after checking the network","remedy_kind":"retry"}
        """#

    @Test func `status shows a row per session`() async throws {
        let tokenctl = try TokenctlRun(.read, .answer(#"{"sessions":[\#(Self.session)]}"#))
        let result = try await tokenctl("status")
        #expect(
            result.standardOutput == """
                SESSION  STATE     EXPIRES  NEXT REFRESH  NOTE
                work     retrying  in 59m   in 30s        no route (retry: after checking the network)

                """
        )
        #expect(result.status == 0 && result.standardError.isEmpty)
    }

    @Test func `status of one session shows everything`() async throws {
        let tokenctl = try TokenctlRun(.read, .answer(Self.session))
        let result = try await tokenctl("status", "work")
        for line in [
            "session     work", "expires     2023-11-14T22:13:20Z (in 59m)", "scopes      a b",
        ] {
            #expect(result.standardOutput.contains(line + "\n"))
        }
        #expect(result.standardOutput.contains("last error  network: no route ("))
        #expect(result.standardOutput.hasSuffix("\n  Retry: after checking the network\n"))
        #expect(tokenctl.agent.requests.first?.hasPrefix("GET /v1/sessions/work ") == true)
    }

    @Test(.holds("123", "O58")) func `what servers wrote cannot drive the terminal`() async throws {
        let nasty = #"\u001b]0;x\u0007\u001b[2J\u009b1A\r\u202e\#(String(repeating: "x", count: 5000))"#
        let body =
            #"{"session":"work","state":"ready","last_error":{"code":"\#(nasty)","message":"\#(nasty)"}}"#
        for arguments in [["status"], ["status", "work"], ["status", "work", "--json"], ["list"]] {
            let answer = arguments.contains("work") ? body : #"{"sessions":[\#(body)]}"#
            let agent = try ScriptedAgent(.read, .answer(answer))
            let result = try await Program.run(
                [BuiltPrograms.client] + arguments,
                environment: ["TOKENAGENT_SOCK": agent.socket]
            )
            #expect(result.status == 0)
            #expect(result.standardOutput.utf8.allSatisfy { $0 == 0x0A || (0x20..<0x7F).contains($0) })
            guard arguments.contains("--json") == false else { continue }
            #expect(result.standardOutput.split(separator: "\n").allSatisfy { $0.utf8.count <= 700 })
        }
    }

    @Test(.holds("123")) func `an error message of a server is one printable line of bounded length`()
        async throws
    {
        let body =
            #"{"error":{"code":"internal","message":"a\u001b[31mb\r\nc\u202e\#(String(repeating: "x", count: 9999))"}}"#
        let tokenctl = try TokenctlRun(.read, .answer(body, status: 500))
        let error = try await tokenctl("status").standardError
        #expect(error.utf8.dropLast().allSatisfy { (0x20..<0x7F).contains($0) })
        #expect(error.utf8.count < 600)
    }

    @Test func `list prints names`() async throws {
        let tokenctl = try TokenctlRun(.read, .answer(#"{"sessions":[{"session":"a"},{"session":"b"}]}"#))
        #expect(try await tokenctl("list").standardOutput == "a\nb\n")
    }

    @Test func `audit prints a line for each token and each action`() async throws {
        let served =
            #"{"time":1700000000,"session":"work","decision":"served","kind":"access","pid":7,"uid":1000}"#
        let denied =
            #"{"time":1700000001,"session":"work","decision":"denied","kind":"id","pid":8,"uid":0,"exe":"/usr/bin/git","unit":"a.scope","socket":"/run/x\u001b"}"#
        let lost = #"{"time":1700000002,"dropped":3}"#
        let done = #"{"time":1700000003,"session":"work","decision":"done","action":"login","pid":7,"uid":1}"#
        let slot = #"{"time":1700000004,"decision":"failed","action":"slot_add","pid":7,"uid":1}"#
        let lock = #"{"time":1700000005,"decision":"done","action":"lock","by":"signal"}"#
        let tokenctl = try TokenctlRun(.read, .lines(served, denied, lost, done, slot, lock))
        let text = try await tokenctl("audit", "work")
        #expect(
            text.standardOutput == """
                2023-11-14T22:13:20Z  served  work  process 7  user 1000
                2023-11-14T22:13:21Z  denied  work  ID token  process 8  user 0  /usr/bin/git  a.scope  through /run/x\\u{1b}
                2023-11-14T22:13:22Z  3 lines could not be written
                2023-11-14T22:13:23Z  done  work  login  process 7  user 1
                2023-11-14T22:13:24Z  failed  slot add  process 7  user 1
                2023-11-14T22:13:25Z  done  lock  by a signal

                """
        )
        #expect(text.status == 0)
        #expect(tokenctl.agent.requests.first?.hasPrefix("GET /v1/audit?session=work ") == true)
        let json = try await TokenctlRun(.read, .lines(served))("audit", "--json", "--follow")
        #expect(json.standardOutput.hasPrefix(served + "\n"))
        #expect(json.status == 3)
    }

    @Test func `watch prints the events of one session`() async throws {
        let event = #"{"event":"refreshed","session":"work","time":1}"#
        let tokenctl = try TokenctlRun(.read, .lines(event, #"{"event":"locked","time":2}"#))
        let result = try await tokenctl("watch", "work")
        #expect(tokenctl.agent.requests.first?.hasPrefix("GET /v1/events?session=work ") == true)
        #expect(result.standardOutput == event + "\n" + #"{"event":"locked","time":2}"# + "\n")
        #expect(result.status == 3)
    }

    @Test func `a reader of watch that has seen enough ends it without a word`() async throws {
        let event = #"{"event":"refreshed","session":"work","time":1}"#
        let events = Array(repeating: event, count: 20_000).joined(separator: "\n")
        let tokenctl = try TokenctlRun(.read, .lines(events))
        let result = try await Program.run(
            ["/bin/sh", "-c", "\(BuiltPrograms.client) watch | head -n 1"],
            environment: ["TOKENAGENT_SOCK": tokenctl.agent.socket, "PATH": TestEnvironment.searchPath]
        )
        #expect(result.all == (0, event + "\n", ""))
    }

    @Test(arguments: [["watch"], ["watch", "--json"], ["audit"], ["audit", "--follow", "--json"]])
    func `a session that does not exist cannot be followed`(command: [String]) async throws {
        let error = #"{"code":"not_found","message":"There is no session nosuch.","session":"nosuch"}"#
        let agent = try ScriptedAgent(.read, .answer(#"{"error":\#(error)}"#, status: 404))
        let result = try await Program.run(
            [BuiltPrograms.client] + command + ["nosuch"],
            environment: ["TOKENAGENT_SOCK": agent.socket]
        )
        #expect(result.status == 7)
        #expect(result.standardError.contains("There is no session nosuch"))
        let isJSON = result.standardOutput.hasPrefix(#"{"error":{"code":"not_found""#)
        #expect(isJSON == command.contains("--json"))
    }

    @Test func `claims are decoded and marked as not verified`() async throws {
        // {"alg":"none"} . {"sub":"me","exp":1700000000}
        let token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSIsImV4cCI6MTcwMDAwMDAwMH0.c2ln"
        let tokenctl = try TokenctlRun(.read, .answer(#"{"access_token":"\#(token)","expires_at":1}"#))
        let text = try await tokenctl("claims", "work").standardOutput
        #expect(
            text.hasPrefix(
                "# access token of work, NOT VERIFIED\nsub  me\nexp  1700000000 (2023-11-14T22:13:20Z,"
            )
        )
        let object = try JSONValue(
            parsing: try await tokenctl("claims", "work", "--json").standardOutput.utf8
        ).object
        #expect(object?["verified"]?.bool == false)
        #expect(object?["claims"]?.object?["sub"]?.string == "me")
    }

    @Test(arguments: ["opaque", "a.b", "a.b.c.d.e", "eyJ9.eyJ9.x"])
    func `a token that is not a JWT has no claims`(token: String) async throws {
        let tokenctl = try TokenctlRun(.read, .answer(#"{"access_token":"\#(token)","expires_at":1}"#))
        let result = try await tokenctl("claims", "work")
        #expect(result.status == 1 && result.standardOutput.isEmpty)
        #expect(result.standardError == "tokenctl: the access token of work is not a readable JWT\n")
    }

    @Test(arguments: [
        (["logout", "work"], "POST /v1/sessions/work/logout", #"{"local":false}"#),
        (["logout", "work", "--local"], "POST /v1/sessions/work/logout", #"{"local":true}"#),
        (["refresh", "work"], "POST /v1/sessions/work/refresh", "{}"), (["lock"], "POST /v1/lock", ""),
    ])
    func `a command is one request and silent`(arguments: [String], line: String, body: String) async throws {
        let agent = try ScriptedAgent(.read, .answer("{}"))
        let result = try await Program.run(
            [BuiltPrograms.client] + arguments,
            environment: ["TOKENAGENT_SOCK": agent.socket]
        )
        #expect(result.all == (0, "", ""))
        #expect(agent.requests.count == 1)
        #expect(agent.requests.first?.hasPrefix(line + " HTTP/1.1\r\n") == true)
        #expect(agent.requests.first?.hasSuffix("\r\n\r\n" + body) == true)
    }

    @Test func `passphrases from standard input go where they belong`() async throws {
        let tokenctl = try TokenctlRun(.read, .answer("{}"))
        _ = try await tokenctl("unlock", "--passphrase-stdin", input: "pass phrase\n")
        _ = try await tokenctl("vault", "passwd", "--passphrase-stdin", input: "old one\nnew one\n")
        _ = try await tokenctl("refresh", "work", "--rejected-stdin", input: "AT\n")
        #expect(
            tokenctl.agent.requests.map { $0.split(separator: "\r\n\r\n").last } == [
                #"{"passphrase":"pass phrase"}"#, #"{"old":"old one","new":"new one"}"#,
                #"{"rejected_token":"AT"}"#,
            ]
        )
    }

    @Test func `doctor fails when a check does`() async throws {
        let about = #"{"version":"9.9","api":1,"pid":7,"uptime":61,"locked":false,"sessions":1}"#
        let checks =
            #"{"checks":[{"name":"store","ok":true,"detail":"fine"},{"name":"issuer","ok":false,"detail":"x","remedy":"y"}]}"#
        let tokenctl = try TokenctlRun(.read, .answer(about), .read, .answer(checks))
        let result = try await tokenctl("doctor")
        #expect(result.status == 1)
        for line in [
            "ok       agent: process 7, running for 1m 1s",
            "ok       lock: the agent is unlocked",
            "warning  version: the agent is 9.9, tokenctl is \(AgentRelease.version) (run: tokenctl shutdown)",
            "ok       store: fine", "problem  issuer: x (run: y)",
        ] {
            #expect(result.standardOutput.contains(line + "\n"))
        }
    }

    @Test func `doctor and reload name the command by which the agent is restarted`() async throws {
        let about = #"{"version":"9.9","api":1,"locked":false,"restart_command":"systemctl restart a"}"#
        let doctor = try TokenctlRun(.read, .answer(about), .read, .answer(#"{"checks":[]}"#))
        let found = try await doctor("doctor")
        #expect(found.standardOutput.contains("(run: systemctl restart a)\n"), "\(found)")
        let late = #"{"sessions":1,"restart":[{"key":"fleet.name","reason":"x"}],"mistakes":[]}"#
        let reload = try TokenctlRun(connections: [[.read, .answer(late)], [.read, .answer(about)]])
        let reloaded = try await reload("reload")
        #expect(reloaded.standardError.hasSuffix("\n  Run: systemctl restart a\n"), "\(reloaded)")
    }

    @Test func `doctor asks a locked agent why it is locked`() async throws {
        let about = #"{"version":"\#(AgentRelease.version)","api":1,"pid":7,"uptime":61,"locked":true}"#
        let checks = #"{"checks":[{"name":"vault","ok":"warning","detail":"locked; no key","remedy":"y"}]}"#
        let tokenctl = try TokenctlRun(.read, .answer(about), .read, .answer(checks))
        let result = try await tokenctl("doctor")
        #expect(result.status == 0)
        #expect(result.standardOutput.contains("warning  vault: locked; no key (run: y)\n"))
        #expect(result.standardOutput.contains("warning  lock: the agent is locked (run: tokenctl unlock)\n"))
    }

    @Test func `unlock asks for a passphrase only when nothing else opens the store`() async throws {
        let needed = #"{"error":{"code":"locked","message":"A passphrase is needed."}}"#
        for (answer, status) in [
            (ScriptedAgent.Step.answer("{}"), Int32(0)), (.answer(needed, status: 423), 2),
        ] {
            let agent = try ScriptedAgent(.read, answer)
            let result = try await Program.run(
                ["/usr/bin/setsid", "-w", BuiltPrograms.client, "unlock"],
                environment: ["TOKENAGENT_SOCK": agent.socket]
            )
            #expect(result.status == status)
            #expect(result.standardError.contains("--passphrase-stdin") == (status == 2))
        }
    }

    @Test(arguments: [
        ["--help"], ["get", "--help"], ["login", "-h"], ["help", "status"],
        ["vault", "slots", "add", "--help"],
        ["config", "example"], ["config", "path"], ["completions", "bash"], ["completions", "zsh"],
        ["completions", "fish"], ["version"], ["--version"],
    ])
    func `needs no agent`(arguments: [String]) async throws {
        let result = try await Program.run(
            [BuiltPrograms.client] + arguments,
            environment: ["HOME": "/nonexistent", "TOKENAGENT_AUTOSTART": "0"]
        )
        #expect(result.status == 0)
        #expect(result.standardOutput.isEmpty == false && result.standardError.isEmpty)
    }

    @Test func `the example is the one that is shipped`() async throws {
        let result = try await Program.run([BuiltPrograms.client, "config", "example"], environment: [:])
        #expect(
            result.standardOutput == File.text("\(BuiltPrograms.checkout)/packaging/examples/config.toml")
        )
    }
}
