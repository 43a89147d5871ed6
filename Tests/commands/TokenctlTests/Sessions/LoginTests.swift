// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing
import Text

@Suite struct `tokenctl login` {
    private static let done = #"{"event":"done","session":"work","expires_at":4000000000,"scope":["a"]}"#

    @Test(.holds("O11")) func `a browser login shows the address and says when it is done`() async throws {
        let tokenctl = try TokenctlRun(
            .read,
            .lines(
                #"{"event":"open_url","login":"1","url":"https://id.example.com/a?b=c","expires_in":300}"#,
                Self.done
            )
        )
        let result = try await tokenctl("login", "work", "--no-browser")
        #expect(result.status == 0)
        #expect(result.standardError.isEmpty)
        let lines = result.standardOutput.split(separator: "\n")
        #expect(lines.prefix(2) == ["Open this URL in a browser:", "https://id.example.com/a?b=c"])
        #expect(lines.last?.hasPrefix("Logged in to \"work\"") == true)
        // Where no browser was opened, the time limit and the other ways are named.
        #expect(result.standardOutput.contains("Finish the login there within 5m."))
        #expect(lines.contains("  tokenctl login work --paste"))
        #expect(lines.contains("  tokenctl login work --flow device"))
        #expect(tokenctl.agent.requests.first?.hasSuffix("\r\n\r\n{}") == true)
    }

    @Test(.holds("O11")) func `the browser gets the address as one argument and no shell sees it`()
        async throws
    {
        let scratch = try TemporaryDirectory()
        let browser = try scratch.write(
            "#!/bin/sh\nprintf '%s|' \"$@\" > \(scratch.path("seen"))\n",
            to: "b",
            mode: 0o700
        )
        let address = "https://id.example.com/?a=$(id)&b=c;d"
        let event = #"{"event":"open_url","login":"1","url":"\#(address)"}"#
        let tokenctl = try TokenctlRun(.read, .lines(event, Self.done))
        let result = try await tokenctl("login", "work", environment: ["BROWSER": "\(browser) -x %s"])
        #expect(result.status == 0)
        let seen = try await Polling.value {
            File.text(scratch.path("seen")).flatMap { $0.isEmpty ? nil : $0 }
        }
        #expect(seen == "-x|\(address)|")
    }

    @Test(.holds("O47")) func `a device login shows address, code and how long it is good`() async throws {
        let event = #"""
            {"event":"user_code","login":"1","user_code":"ABCD-EFGH","verification_uri":"https://id.example.com/d",\#
            "verification_uri_complete":"https://id.example.com/d?c=1","expires_in":600}
            """#
        let tokenctl = try TokenctlRun(.read, .lines(event, Self.done))
        let result = try await tokenctl("login", "work", "--flow", "device")
        let lines = result.standardOutput.split(separator: "\n")
        #expect(lines.first == "Visit https://id.example.com/d and enter this code (expires in 10m):")
        #expect(lines.dropFirst().first == "ABCD-EFGH")
        #expect(lines.contains("https://id.example.com/d?c=1"))
        #expect(tokenctl.agent.requests.first?.hasSuffix(#"{"flow":"device"}"#) == true)
    }

    @Test func `a device login is shown as a QR code where qrencode is installed`() async throws {
        let event = #"""
            {"event":"user_code","login":"1","user_code":"ABCD-EFGH","verification_uri":"https://id.example.com/d",\#
            "verification_uri_complete":"https://id.example.com/d?c=1","expires_in":600}
            """#
        let programs = try TemporaryDirectory()
        for (isInstalled, shown) in [
            (false, "No QR code: qrencode is not installed."),
            (true, "[UTF8|--|https://id.example.com/d?c=1]"),
        ] {
            if isInstalled {
                try programs.write("#!/bin/sh\necho \"[$2|$5|$6]\"\n", to: "qrencode", mode: 0o700)
            }
            let tokenctl = try TokenctlRun(.read, .lines(event, Self.done))
            let result = try await tokenctl(
                "login",
                "work",
                "--flow",
                "device",
                "--qr",
                environment: ["PATH": programs.path]
            )
            #expect(result.status == 0 && result.standardError.isEmpty, "\(result)")
            #expect(result.standardOutput.split(separator: "\n").contains { $0 == shown }, "\(result)")
        }
    }

    @Test func `without a name the only session is logged in to, and several are listed`() async throws {
        func sessions(_ names: String...) -> ScriptedAgent.Step {
            .answer(#"{"sessions":[\#(names.map { #"{"session":"\#($0)"}"# }.joined(separator: ","))]}"#)
        }
        let one = try TokenctlRun(connections: [
            [.read, sessions("ci")], [.read, .lines(Self.done)],
        ])
        #expect(try await one("login").status == 0)
        #expect(one.agent.requests.last?.hasPrefix("POST /v1/sessions/ci/login ") == true)
        let several = try await TokenctlRun(.read, sessions("ci", "mail"))("login")
        #expect(
            several.all == (
                2, "",
                "tokenctl: missing session name (configured: ci, mail)\n  Run: tokenctl login NAME\n"
            )
        )
        for command in ["login", "get", "refresh", "claims"] {
            let none = try await TokenctlRun(.read, sessions())(command)
            #expect(none.status == 2, "\(none)")
            #expect(none.standardError == "tokenctl: no sessions configured\n  Run: tokenctl add NAME\n")
        }
    }

    @Test func `a password comes from standard input and is sent once`() async throws {
        let tokenctl = try TokenctlRun(.read, .lines(Self.done))
        let result = try await tokenctl(
            "login",
            "work",
            "--username",
            "me",
            "--password-stdin",
            input: "pass\"word\n"
        )
        #expect(result.status == 0)
        #expect(
            tokenctl.agent.requests.first?
                .hasSuffix(#"{"flow":"password","username":"me","secret":"pass\"word"}"#) == true
        )
    }

    @Test func `a refresh token is imported from standard input`() async throws {
        let tokenctl = try TokenctlRun(.read, .lines(Self.done))
        _ = try await tokenctl("login", "work", "--refresh-token-stdin", input: "RT")
        #expect(tokenctl.agent.requests.first?.hasSuffix(#"{"flow":"import","secret":"RT"}"#) == true)
    }

    @Test(arguments: ["", "\n", "a\nb\n", "\u{7}\n"])
    func `a password that cannot be one is refused before anything is sent`(input: String) async throws {
        let tokenctl = try TokenctlRun(.read, .lines(Self.done))
        let result = try await tokenctl("login", "work", "--password-stdin", input: input)
        #expect(result.status == 2)
        #expect(tokenctl.agent.requests.isEmpty)
    }

    @Test func `a question that may be seen is answered from standard input without a terminal`() async throws
    {
        let need = #"{"event":"need","login":"L1","kind":"redirect","prompt":"Address","secret":false}"#
        let tokenctl = try TokenctlRun(connections: [
            [.read, .lines(need, Self.done)], [.read, .answer("{}")],
        ])
        let result = try await Program.run(
            ["/usr/bin/setsid", "-w", BuiltPrograms.client, "login", "work", "--paste"],
            environment: ["TOKENAGENT_SOCK": tokenctl.agent.socket],
            input: "http://127.0.0.1/callback?code=1\n"
        )
        #expect(result.standardError == "")
        #expect(result.status == 0)
        #expect(tokenctl.agent.requests.last?.hasPrefix("POST /v1/sessions/work/login/L1 ") == true)
        #expect(
            tokenctl.agent.requests.last?.hasSuffix(#"{"value":"http://127.0.0.1/callback?code=1"}"#) == true
        )
    }

    @Test(
        .holds("128"),
        arguments: [
            ("username", false, "--username"), ("password", true, "--password-stdin"),
            ("refresh_token", true, "--refresh-token-stdin"),
            ("one_time_code", true, "  Retry: in a terminal"),
            ("redirect_address", false, "  Retry: in a terminal"),
        ]
    )
    func `a question that nobody can answer is refused with the option to use`(
        kind: String,
        isSecret: Bool,
        remedy: String
    ) async throws {
        let need =
            #"{"event":"need","login":"L1","kind":"\#(kind)","prompt":"P","secret":\#(isSecret)}"#
        let tokenctl = try TokenctlRun(.read, .lines(need), .hang)
        let result = try await Program.run(
            ["/usr/bin/setsid", "-w", BuiltPrograms.client, "login", "work"],
            environment: ["TOKENAGENT_SOCK": tokenctl.agent.socket]
        )
        #expect(result.status == 2)
        #expect(result.standardError.hasPrefix("tokenctl: work: cannot prompt for the "))
        #expect(result.standardError.hasSuffix(remedy + "\n"))
    }

    @Test func `a login that failed says why, with the code's status`() async throws {
        let failed = #"{"event":"failed","error":{"code":"denied","message":"access_denied"}}"#
        let tokenctl = try TokenctlRun(.read, .lines(failed))
        let result = try await tokenctl("login", "work")
        #expect(
            result.all == (8, "", "tokenctl: work: access_denied\n")
        )
        let json = try await TokenctlRun(.read, .lines(failed))("login", "work", "--json")
        #expect(json.all == (8, failed + "\n", "tokenctl: work: access_denied\n"))
    }

    @Test func `json passes the progress on, one object per line`() async throws {
        let url = #"{"event":"open_url","login":"1","url":"https://id.example.com/"}"#
        let tokenctl = try TokenctlRun(.read, .lines(url, Self.done))
        let result = try await tokenctl("login", "work", "--json", "--no-browser")
        #expect(result.standardOutput == url + "\n" + Self.done + "\n")
    }

    @Test func `an interrupt cancels by closing the connection`() async throws {
        let tokenctl = try TokenctlRun(
            .read,
            .lines(#"{"event":"open_url","login":"1","url":"https://a/"}"#),
            .hang
        )
        let program = try Program(
            [BuiltPrograms.client, "login", "work", "--no-browser"],
            environment: ["TOKENAGENT_SOCK": tokenctl.agent.socket]
        )
        _ = try await program.outputLine(containing: "https://a/")
        kill(program.pid, SIGINT)
        #expect(try await program.finish().status == 130)
    }
}
