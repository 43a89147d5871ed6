// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// The commands that `tokenctl ssh` runs, recorded by a program in place of ssh.
@Suite struct SSHOptionTests {
    /// Runs `tokenctl ssh --session work` with `words`, and an ssh whose keeper prints `announcement` and whose
    /// configuration has these `settings`.
    ///
    /// - Returns: the result, and the words of each call of ssh that connects, each word in angle brackets.
    private func run(
        _ words: [String],
        announcing announcement: String = "tokenagent-ssh /tmp/there/sock",
        settings: String = "sessiontype default\nstdinnull no\n"
    ) async throws -> (result: ProgramResult, calls: [String]) {
        let directory = try TemporaryDirectory()
        try directory.write(
            """
            #!/bin/sh
            [ "$1" != -G ] || { printf '%s' "$SETTINGS"; exit 0; }
            printf '<%s>' "$@" >>"$CALLS"; echo >>"$CALLS"
            case " $* " in
                *" -M "*) printf '%s\\n' "$ANNOUNCEMENT"; case $ANNOUNCEMENT in *there*) cat >/dev/null ;; esac ;;
                *" -O "*) ;;
                *) exit 7 ;;
            esac

            """,
            to: "ssh",
            mode: 0o700
        )
        let tokenctl = try TokenctlRun { _ in .answer(#"{"session":"work","sessions":["work"],"host":"far"}"#)
        }
        let result = try await tokenctl.run(
            ["ssh", "--session", "work"] + words,
            environment: [
                "PATH": directory.path + ":/usr/bin:/bin", "CALLS": directory.path("calls"),
                "ANNOUNCEMENT": announcement, "SETTINGS": settings,
            ]
        )
        let calls = File.text(directory.path("calls")) ?? ""
        return (result, calls.split(separator: "\n").map(String.init))
    }

    @Test(.holds("250")) func `options go to the connection and to the shell, as each needs them`()
        async throws
    {
        let words = [
            "-vp22", "-J", "jump", "-tt", "-L", "1:h:2", "far", "-l", "me", "--", "echo", "-x", "it's",
        ]
        let (result, calls) = try await run(words)
        #expect(result.status == 7 && result.standardError.isEmpty, "\(result)")
        try #require(calls.count == 3, "\(calls)")
        let connection = "<-v><-p><22><-J><jump><-L><1:h:2><-l><me><--><far><exec sh -c 'umask 077;"
        #expect(calls[0].hasPrefix("<-M><-S></") && calls[0].contains(connection), "\(calls[0])")
        #expect(calls[1].hasPrefix("<-F></dev/null><-S></") && calls[1].hasSuffix("/sock><--><far>"))
        #expect(calls[1].contains("<-O><forward><-R></tmp/there/sock:/"), "\(calls[1])")
        let shell = #"""
            <-v><-p><22><-t><-t><-L><1:h:2><-l><me><--><far><exec env TOKENAGENT_SOCK=/tmp/there/sock TOKENAGENT_AUTOSTART=0 "$SHELL" -c 'echo -x it'\''s'>
            """#
        #expect(calls[2].contains("<ProxyCommand=false>") && calls[2].hasSuffix(shell), "\(calls[2])")
    }

    @Test func `only what the configuration sets is overruled, as older ones know no such options`()
        async throws
    {
        let set = "user me\nsessiontype none\nstdinnull yes\nforkafterauthentication yes\n"
        for (settings, isOverruled) in [(set, true), ("user me\n", false)] {
            let (result, calls) = try await run(["far", "true"], settings: settings)
            try #require(result.status == 7 && calls.count == 3, "\(result) \(calls)")
            let both = "<-o><SessionType=default><-o><ForkAfterAuthentication=no>"
            #expect(calls[0].contains(both + "<-o><StdinNull=no>") == isOverruled, "\(calls[0])")
            #expect(calls[2].contains(both) == isOverruled, "\(calls[2])")
            #expect(!calls[2].contains("StdinNull"), "\(calls[2])")
        }
    }

    @Test(arguments: [
        [], ["-p", "22"], ["-tt"], ["-T"], ["-l", "me"],
    ])
    func `without a command there is a login shell`(options: [String]) async throws {
        let (result, calls) = try await run(options + ["far"])
        #expect(result.status == 7)
        #expect(calls.last?.hasSuffix(#"TOKENAGENT_AUTOSTART=0 "$SHELL" -l>"#) == true, "\(calls)")
    }

    @Test(
        .holds("250"),
        arguments: [
            "tokenagent-ssh /tmp/a;id/sock", "tokenagent-ssh /tmp/a b/sock", "tokenagent-ssh relative/sock",
            "tokenagent-ssh /tmp/$(id)/sock", "tokenagent-ssh /tmp/a:b/sock", "tokenagent-ssh /tmp/'/sock",
            "tokenagent-ssh /" + String(repeating: "a", count: 103), "tokenagent-ssh ", "nothing", "",
        ]
    )
    func `a path that is none goes into no command`(announcement: String) async throws {
        let (result, calls) = try await run(["far"], announcing: announcement)
        #expect(calls.count == 1, "\(calls)")
        #expect(result.status == 1)
        #expect(
            result.standardError == "tokenctl: far did not create a directory for the socket\n",
            "\(result)"
        )
    }
}
