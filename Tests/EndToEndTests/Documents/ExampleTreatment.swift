// SPDX-License-Identifier: MIT

/// The way an example of the documentation is tested.
struct ExampleTreatment: Sendable {
    enum Kind: Sendable {
        /// It runs unchanged, except that the server's address replaces that of `api.example.com`.
        case runs
        /// It runs with substitutes, given by name and script, for programs that are missing or have side effects.
        case runsWith([String: String], reason: String)
        /// It is configuration of another program. The line of shell reads `"$EXAMPLE"` as that program does.
        case isReadBy(String, reason: String)
        /// It is configuration of the agent, which checks it.
        case configuration
    }

    /// The beginning of the example's text.
    let start: String
    let kind: Kind
    /// Text that the output must contain, with `TOKEN` for the session's token.
    var shows: [String] = []

    init(_ start: String, _ kind: Kind, shows: [String] = []) {
        self.start = start
        self.kind = kind
        self.shows = shows
    }

    /// All treatments: each belongs to exactly one example, and each example has exactly one.
    static let all =
        tokenctl + tokenagent + configuration + clients + fleet + protocolPage + tutorial + readme + uses

    private static let makefile = "make -s -n -C \"$CHECKOUT\""

    private static let tokenctl = [
        ExampleTreatment(
            "$ tokenctl add home",
            .runs,
            shows: ["Created session \"home\" in ", "Logged in to \"home\"", "ok       agent: "]
        ),
        ExampleTreatment(
            "$ tokenctl add github",
            .runs,
            shows: ["[session.github]\nprovider ", " = \"Iv1.0123456789abcdef\"\n"]
        ),
        ExampleTreatment(
            "$ tokenctl providers keycloak",
            .runs,
            shows: ["Keycloak\n", "  issuer = \"https://{host}/realms/{realm}\"\n", "(documented): https://"]
        ),
        ExampleTreatment("$ tokenctl config show work", .runs, shows: ["[session.work]\n", "client_id"]),
        ExampleTreatment(
            "# ~/.config/tokenagent/providers.d/acme.toml",
            .isReadBy(
                """
                d="$(dirname "$(tokenctl config path)")/providers.d" && mkdir -m 700 "$d" &&
                printf '%s\\n' "$EXAMPLE" >"$d/acme.toml" && tokenctl providers acme
                """,
                reason: "a session of this provider would need its server"
            ),
            shows: ["Acme\n", "Asks for tenant: Name of the tenant\n"]
        ),
        ExampleTreatment(
            "$ tokenctl login work\n$ tokenctl get work --format header",
            .runs,
            shows: [#""hello":"alice""#]
        ),
        ExampleTreatment("$ tokenctl curl work --", .runs, shows: [#""hello":"alice""#]),
        ExampleTreatment(
            "$ tokenctl exec work --",
            .runsWith(["xrdcp": #"cat "$BEARER_TOKEN_FILE""#], reason: "XRootD is not installed here"),
            shows: ["TOKEN"]
        ),
        ExampleTreatment(
            "bearer_token_command =",
            .isReadBy(#"${EXAMPLE#*= }"#, reason: "rclone splits the command at its blanks"),
            shows: ["TOKEN"]
        ),
        ExampleTreatment(
            #"{"mcpServers":"#,
            .isReadBy(
                #"""
                set -- $(printf '%s' "$EXAMPLE" | tr -d '\n' | sed 's/.*"command": "\(.*\)", *"args": \[\(.*\)\].*/\1 \2/' | tr -d '",')
                echo '{"jsonrpc":"2.0","method":"notifications/none"}' | "$@" 2>/dev/null; echo "$*"
                """#,
                reason: "what a client makes of it is the business of the MCP suites"
            ),
            shows: ["tokenctl mcp connect https://mcp.example.com/mcp"]
        ),
        ExampleTreatment(
            #""headersHelper":"#,
            .isReadBy(
                #"""
                command=$(printf '%s' "$EXAMPLE" | sed 's/.*: "\(.*\)"/\1/')
                $command 2>said && exit 1; test $? = 7; cat said
                """#,
                reason: "no session here is for that address"
            ),
            shows: ["no session for https://mcp.example.com/mcp"]
        ),
        ExampleTreatment(
            "$ tokenctl get work --format headers-json",
            .runs,
            shows: [#"{"Authorization":"Bearer TOKEN"}"#]
        ),
        ExampleTreatment(
            "$ git config --global credential.helper tokenagent\n",
            .runsWith([:], reason: "what git makes of it is the business of HelperTests")
        ),
        ExampleTreatment(
            "exec:",
            .isReadBy(
                #"""
                set -- $(printf '%s\n' "$EXAMPLE" | sed -n 's/^ *command: //p; s/^ *args: \[\(.*\)\]/\1/p' | tr -d ,)
                "$@"
                """#,
                reason: "kubectl itself is run by HelperTests"
            ),
            shows: [#""kind":"ExecCredential""#, "TOKEN"]
        ),
        ExampleTreatment(
            "$ go env -w",
            .runsWith(
                ["go": #"${3#GOAUTH=} https://127.0.0.1/x"#],
                reason: "go is not installed here; it runs the command with the address that was refused"
            ),
            shows: ["Authorization: Bearer TOKEN"]
        ),
        ExampleTreatment(
            "common --credential_helper=",
            .isReadBy(
                #"echo '{"uri":"https://127.0.0.1"}' | "$LINKS/${EXAMPLE##*/}" get"#,
                reason: "bazel is not installed here"
            ),
            shows: ["Bearer TOKEN"]
        ),
        ExampleTreatment(
            "$ mkdir -p ~/.terraform.d/plugins",
            .runsWith(
                ["ln": #"exec /bin/ln "$1" "$LINKS/${2##*/}" "$3""#],
                reason: "the installation is another directory here"
            )
        ),
        ExampleTreatment(
            "$ PATH=/usr/local/libexec/tokenagent:$PATH ",
            .runsWith(
                [
                    "pip":
                        #"PATH="$LINKS:$PATH"; keyring --mode=creds --output=json get https://127.0.0.1/simple"#
                ],
                reason: "pip would ask an index"
            ),
            shows: [#""password":"TOKEN""#]
        ),
        ExampleTreatment(
            #"{"credHelpers":"#,
            .isReadBy(
                #"echo https://127.0.0.1 | "$LINKS/docker-credential-$(echo "$EXAMPLE" | tr -d '{}"' | sed 's/.*: //')" get"#,
                reason: "docker itself is run by HelperTests"
            ),
            shows: [#""Secret":"TOKEN""#]
        ),
        ExampleTreatment("$ tokenctl login work --flow device", .runs),
        ExampleTreatment("$ tokenctl login ci && tokenctl get ci", .runs),
        ExampleTreatment(
            "PassCmd",
            .isReadBy(
                #"printf '%s\n' "$EXAMPLE" | sed 's/^[^"]*"\(.*\)"$/\1/' | sh"#,
                reason: "mbsync and msmtp give such a command to a shell"
            ),
            shows: ["MAIL\nMAIL\n"]
        ),
        ExampleTreatment("$ tokenctl refresh mail", .runs),
        ExampleTreatment("$ eval \"$(tokenctl get work --format env)\"", .runs),
        ExampleTreatment("$ printf '%s' \"$token\"", .runs),
        ExampleTreatment("token=$(tokenctl get work) || case", .runs),
    ]

    private static let tokenagent = [
        ExampleTreatment("$ eval \"$(tokenagent)\"", .runs),
        ExampleTreatment(
            "$ systemctl --user",
            .runsWith(
                ["systemctl": #"test -f "$CHECKOUT/packaging/systemd/$4""#],
                reason: "tests do not touch the person's services"
            )
        ),
        ExampleTreatment(
            "# install -D -o build -m 600",
            .isReadBy(
                #"""
                mkdir -m 700 account
                cp config/tokenagent/config.toml build.toml
                install() {
                    test "$2 $3" = "-o build"
                    command install "$1" "$4" "$5" "$6" "$HOME/account$7"
                }
                systemctl() {
                    test "$*" = "enable --now tokenagent@build"
                    TOKENAGENT_CONFIG=$HOME/account/etc/tokenagent/build/config.toml \
                        tokenagent --state-dir "$HOME/account/state" -a "$HOME/account/sock" >started
                }
                sudo() { shift 4; TOKENAGENT_SOCK=$HOME/account/sock "$@"; }
                printf '%s\n' "$EXAMPLE" | sed 's/^# //' >lines
                . ./lines
                TOKENAGENT_SOCK=$HOME/account/sock tokenctl get work --format env
                TOKENAGENT_SOCK=$HOME/account/sock tokenagent -k
                """#,
                reason:
                    "the account and its directories are others here; ServiceUnitTests start an agent as the unit says"
            ),
            shows: ["Logged in to \"work\"", "\nBEARER_"]
        ),
        ExampleTreatment(
            "$ tokenagent --state-dir",
            .runsWith(
                ["make": #"echo "$TOKENAGENT_SOCK"; tokenctl list"#],
                reason: "there is nothing to deploy"
            ),
            shows: ["/.tokens/sock\nci\nmail\nwork\n"]
        ),
        ExampleTreatment(
            "$ tokenagent --check-config && pkill",
            .runsWith(
                ["pkill": #"test "$*" = "-HUP -x tokenagent""#],
                reason: "other agents may run on this machine"
            )
        ),
    ]

    /// The examples that are configuration, by the table with which they begin.
    private static let configuration =
        ["[agent]", "[fleet]", "[hooks]", "[session.", "[vault]"].map { ExampleTreatment($0, .configuration) }
        + containers

    /// A command with which the agent checks the example as a part of the stage's configuration.
    private static let beside = #"""
        umask 077
        { cat "$XDG_CONFIG_HOME/tokenagent/config.toml"; printf '\n%s\n' "$EXAMPLE"; } >config.toml
        TOKENAGENT_CONFIG="$PWD/config.toml" tokenctl config check
        """#

    /// The examples for containers.
    ///
    /// ContainerTests tests the socket and the containers themselves.
    private static let containers: [ExampleTreatment] = [
        ExampleTreatment(
            "[[socket]]\npath     = \"~/tokens/box/agent.sock\"",
            .isReadBy(Self.beside, reason: "the session that it names is that of the stage")
        ),
        ExampleTreatment(
            "[[proxy]]\nname     = \"files\"",
            .isReadBy(Self.beside, reason: "the session that it names is that of the stage")
        ),
        engine("docker", "$ docker run"),
        engine("podman", "$ podman run"),
        engine("bwrap", "$ bwrap"),
        ExampleTreatment(
            "{\n  \"image\"",
            .isReadBy(#"printf '%s\n' "$EXAMPLE" | python3 -m json.tool >json"#, reason: "an editor reads it")
        ),
        ExampleTreatment(
            "$ git config --global credential.helper '!wsl",
            .runsWith([:], reason: "it is a setting of git on Windows")
        ),
    ]

    /// An example that runs a program in a container of `engine`.
    private static func engine(_ engine: String, _ start: String) -> ExampleTreatment {
        let script = #"case "$*" in *" tokenctl get work") tokenctl get work ;; *) exit 1 ;; esac"#
        return ExampleTreatment(
            start,
            .runsWith([engine: script], reason: "an engine may be missing, and would fetch an image"),
            shows: ["TOKEN\n"]
        )
    }

    private static let readme = [
        ExampleTreatment(
            "$ tokenctl add work --issuer https://id.example.com --client-id cli  ",
            .isReadBy(
                #"""
                printf '%s\n' "$EXAMPLE" | sed -n "s/^\\$ //p" |
                    sed "s# work # first #; s#https://id.example.com#${API%/*}#; s#-id cli#-id demo-public#" >lines
                sh -e ./lines
                """#,
                reason: "the stage has its session work already"
            ),
            shows: ["sessions.d/first.toml", "\neyJ", "ready"]
        ),
        ExampleTreatment(
            "make demo",
            .isReadBy("\(makefile) demo && \(makefile) test", reason: "the tests do not run themselves")
        ),
        ExampleTreatment(
            "make build",
            .runsWith(
                [
                    "make": "/usr/bin/\(makefile) \"$@\" >/dev/null", "sudo": "exec \"$@\"",
                    "systemctl": #"test -f "$CHECKOUT/packaging/systemd/$4""#,
                ],
                reason: "tests neither make a release build nor install it"
            )
        ),
        ExampleTreatment("tokenctl curl work --", .runs, shows: [#""hello":"alice""#]),
    ]

    /// The table of uses, in which words in capitals are for the reader to replace.
    private static let uses = [
        ExampleTreatment(
            "tokenctl curl work -- -s URL",
            .isReadBy(#"${EXAMPLE%URL} "$API""#, reason: "the address is that of the issuer"),
            shows: [#""hello":"alice""#]
        ),
        ExampleTreatment("tokenctl setup git", .runs, shows: [#"[credential "https://git.example.com"]"#]),
        ExampleTreatment("tokenctl get mail", .runs, shows: ["MAIL\n"]),
        ExampleTreatment(
            "eval \"$(tokenctl get work --format env)\"",
            .isReadBy(#"eval "$EXAMPLE"; echo "$BEARER_TOKEN""#, reason: "what is shown is the variable"),
            shows: ["TOKEN\n"]
        ),
        ExampleTreatment(
            "tokenctl exec work --",
            .isReadBy(
                #"${EXAMPLE%PROGRAM} sh -c 'cat "$BEARER_TOKEN_FILE"'"#,
                reason: "the program is one that shows the file"
            ),
            shows: ["TOKEN"]
        ),
        ExampleTreatment(
            "tokenctl setup mcp",
            .isReadBy(
                "${EXAMPLE%URL} https://mcp.example.com/mcp && cat .mcp.json",
                reason: "what is shown is the file"
            ),
            shows: [#""args":["mcp","connect","https://mcp.example.com/mcp"]"#]
        ),
        ExampleTreatment(
            "tokenctl proxy work",
            .isReadBy(
                #"""
                ${EXAMPLE%URL} "${API%/*}" -- sh -c 'curl -s "$TOKENAGENT_PROXY_URL/resource"'
                """#,
                reason: "the server is the issuer, and the proxy ends with the command"
            ),
            shows: [#""hello":"alice""#]
        ),
        ExampleTreatment(
            "tokenctl exec --endpoint",
            .isReadBy("$EXAMPLE 2>said && exit 1; test $? = 7", reason: "the stage has no [[endpoint]]")
        ),
        ExampleTreatment(
            "curl --unix-socket \"$(tokenctl agent-socket",
            .runs,
            shows: [#""access_token":"TOKEN""#]
        ),
        ExampleTreatment(
            "tokenctl ssh",
            .isReadBy(
                "$EXAMPLE -N 2>said && exit 1; test $? = 2",
                reason: "there is no other host; SSHTests have one"
            )
        ),
    ]
}
