// SPDX-License-Identifier: MIT

import AgentSettings
import Testing

private func options(_ arguments: String...) throws(UsageError) -> StartOptions {
    try StartOptions(arguments, in: "/work")
}

struct StartOptionsTests {
    @Test func `without options an agent is started in the background`() throws {
        #expect(try options() == StartOptions())
        #expect(try options().form == .background)
    }

    @Test(arguments: [
        ("-D", StartOptions.Operation.foreground), ("--foreground", .foreground), ("-k", .stop),
        ("--kill", .stop),
        ("--check-config", .checkConfiguration), ("--version", .version), ("-h", .help), ("--help", .help),
        ("make", .around(["make"])),
    ])
    func `each form has its word`(word: String, form: StartOptions.Operation) throws {
        #expect(try options(word).form == form)
    }

    @Test func `a check can be asked for as JSON`() throws {
        #expect(try options("--json", "--check-config").wantsJSON)
        #expect(try options("--check-config").wantsJSON == false)
        let more = try options("--check-config", "--json", "--drafts", "d", "--session=z")
        #expect(more.drafts == "/work/d" && more.session == "z")
    }

    @Test func `a fleet's key files are made and renewed by their paths`() throws {
        let made = try options("--make-fleet-key", "build", "fleet.key").form
        #expect(made == .makeFleetKey(name: "build", file: "/work/fleet.key"))
        #expect(try options("--renew-fleet-key", "/k").form == .renewFleetKey(file: "/k"))
        #expect(try options("--stage-fleet-key", "/k").form == .stageFleetKey(file: "/k"))
        #expect(try options("--activate-fleet-key", "/k").form == .activateFleetKey(file: "/k"))
    }

    @Test func `options end at the command, whose own options are left alone`() throws {
        let options = try options("-a", "run/s", "make", "-k", "--config=x")
        #expect(options.form == .around(["make", "-k", "--config=x"]))
        #expect(options.socket == "/work/run/s")
        #expect(try StartOptions(["--", "-x", "--"], in: "/").form == .around(["-x", "--"]))
    }

    @Test func `values are read attached and detached, relative paths from here`() throws {
        let options = try options(
            "--config=/etc/t.toml",
            "--state-dir",
            "state",
            "--log-level",
            "debug",
            "--socket=/s",
            "--fish"
        )
        #expect(options.configuration == "/etc/t.toml")
        #expect(options.stateDirectory == "/work/state")
        #expect(options.logLevel == .debug)
        #expect(options.socket == "/s")
        #expect(options.syntax == .fish)
    }

    @Test(arguments: [
        (["--frobnicate"], "unknown option --frobnicate"), (["-x"], "unknown option -x"),
        (["-a"], "-a requires a value"),
        (["-a", ""], "-a requires a path"), (["-D=1"], "unknown option -D=1"),
        (["--foreground=1"], "--foreground takes no value"),
        (
            ["-D", "-k"],
            "mutually exclusive: -D, -k, --check-config, --remove-token-files, --version, --help"
        ),
        (["-D", "make"], "a command cannot be combined with another mode: make"),
        (
            ["--log-level", "loud"],
            "--log-level must be one of critical, error, warning, notice, info, debug, trace"
        ),
        (["--json"], "--json requires --check-config"),
        (["--check-config", "--drafts", "d"], "--drafts and --session require --check-config --json"),
        (["--session=z"], "--drafts and --session require --check-config --json"),
        (["--make-fleet-key", "build"], "--make-fleet-key requires a file"),
        (["--readiness-fd", "x"], "--readiness-fd requires a number"),
    ])
    func `wrong usage is explained`(arguments: [String], message: String) {
        #expect(throws: UsageError(message)) { try StartOptions(arguments, in: "/") }
    }

    @Test(arguments: [
        (
            ShellSyntax.sh,
            "TOKENAGENT_SOCK=/run/a; export TOKENAGENT_SOCK;\nTOKENAGENT_PID=7; export TOKENAGENT_PID;\n"
        ),
        (.csh, "setenv TOKENAGENT_SOCK /run/a;\nsetenv TOKENAGENT_PID 7;\n"),
        (.fish, "set -gx TOKENAGENT_SOCK /run/a;\nset -gx TOKENAGENT_PID 7;\n"),
    ])
    func `each shell is spoken to in its words`(syntax: ShellSyntax, text: String) {
        #expect(syntax.commands(socket: "/run/a", pid: 7) == text)
    }

    @Test(arguments: [
        (ShellSyntax.sh, "unset TOKENAGENT_SOCK;\nunset TOKENAGENT_PID;\n"),
        (.csh, "unsetenv TOKENAGENT_SOCK;\nunsetenv TOKENAGENT_PID;\n"),
        (.fish, "set -e TOKENAGENT_SOCK;\nset -e TOKENAGENT_PID;\n"),
    ])
    func `each shell is told in its words to forget the agent`(syntax: ShellSyntax, text: String) {
        #expect(syntax.forgettingCommands == text)
    }

    @Test(arguments: [
        (ShellSyntax.sh, "TOKENAGENT_SOCK='/a '\\''b$(c)!\\'; export"),
        (.csh, "setenv TOKENAGENT_SOCK '/a '\\''b$(c)\\!\\';"),
        (.fish, "set -gx TOKENAGENT_SOCK '/a \\'b$(c)!\\\\';"),
    ])
    func `an odd path stays one word`(syntax: ShellSyntax, beginning: String) {
        #expect(syntax.commands(socket: "/a 'b$(c)!\\", pid: 7).hasPrefix(beginning))
    }

    @Test(arguments: [
        ("/bin/bash" as String?, ShellSyntax.sh), ("/bin/tcsh", .csh), ("/usr/bin/csh", .csh),
        ("/usr/bin/fish", .fish),
        ("", .sh), (nil, .sh),
    ])
    func `the shell decides the syntax`(shell: String?, syntax: ShellSyntax) {
        #expect(ShellSyntax(shell: shell) == syntax)
    }

    @Test func `the agent keeps what it reads, commands what is theirs`() {
        let environment = Dictionary(
            uniqueKeysWithValues: [
                "HOME", "PATH", "XDG_RUNTIME_DIR", "TOKENAGENT_SOCK", "LC_ALL", "NOTIFY_SOCKET", "LISTEN_FDS",
                "CREDENTIALS_DIRECTORY", "LD_PRELOAD", "SSLKEYLOGFILE", "HTTPS_PROXY", "MALLOC_PERTURB_",
                "GNUPGHOME", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL",
                "SWIFT_BACKTRACE", "DISPLAY",
            ].map { ($0, "1") }
        )
        #expect(
            Set(EnvironmentFilter.forAgent(environment).keys) == [
                "HOME", "PATH", "XDG_RUNTIME_DIR", "TOKENAGENT_SOCK", "LC_ALL", "NOTIFY_SOCKET", "LISTEN_FDS",
                "CREDENTIALS_DIRECTORY",
            ]
        )
        #expect(
            Set(EnvironmentFilter.forCommands(environment).keys) == [
                "HOME", "PATH", "XDG_RUNTIME_DIR", "TOKENAGENT_SOCK", "LC_ALL", "HTTPS_PROXY", "GNUPGHOME",
                "DISPLAY",
            ]
        )
    }
}
