// SPDX-License-Identifier: MIT

/// The examples of `tokenagent-tutorial(7)`.
extension ExampleTreatment {
    static let tutorial = [
        ExampleTreatment(
            "$ tokenctl add work",
            .isReadBy(
                #"""
                printf '%s\n' "$EXAMPLE" | sed "s/^\\$ //; s# work# first#" |
                    sed "s#https://id.example.com#${API%/*}#; s#-id cli#-id demo-public#" >lines
                sh -e ./lines
                """#,
                reason: "the stage has its session work already"
            ),
            shows: ["sessions.d/first.toml", "\neyJ"]
        ),
        ExampleTreatment("$ tokenctl status\n", .runs, shows: ["work", "ready"]),
        ExampleTreatment("$ tokenctl curl work -- -fsS", .runs, shows: [#""hello":"alice""#]),
        ExampleTreatment("#!/bin/sh\ntokenctl get work", .runs, shows: [#""hello":"alice""#]),
        ExampleTreatment("# ~/.config/tokenagent/sessions.d/work.toml\n", .configuration),
        ExampleTreatment(
            "$ tokenctl config check\n$ tokenctl reload\n",
            .runsWith(
                [
                    "git": #"""
                    PATH=${PATH#*:}
                    [ "$1" = clone ] || exec git "$@"
                    test "$2" = https://git.example.com/team/app.git
                    printf 'protocol=https\nhost=git.example.com\n\n' | git credential fill
                    """#
                ],
                reason: "there is no git server here; it asks for the password as a clone does"
            ),
            shows: ["OK (", "password=TOKEN"]
        ),
        ExampleTreatment(
            "$ env -i HOME=",
            .isReadBy(
                #"""
                printf '%s\n' "$EXAMPLE" |
                    sed 's/^\$ //; s/PATH=[^ ]*/PATH="$PATH" XDG_STATE_HOME="$XDG_STATE_HOME"/' >lines
                sh -e ./lines
                """#,
                reason: "the stage has its programs and its state in other directories"
            ),
            shows: ["TOKEN"]
        ),
        ExampleTreatment(
            "PATH=/usr/local/bin:/usr/bin:/bin\n0 * * * *",
            .isReadBy(
                #"""
                printf '%s\n' "$EXAMPLE" |
                    sed -n "s#https://api.example.com/[m]e#$API#; s/^[0-9].* \* \* \* //p" >lines
                env -i HOME="$HOME" PATH="$PATH" XDG_STATE_HOME="$XDG_STATE_HOME" sh -e ./lines
                cat me.json
                """#,
                reason: "cron is not installed; the stage has its programs and state elsewhere"
            ),
            shows: [#"{"hello":"alice""#]
        ),
        ExampleTreatment(
            "$ tokenctl login work --flow device\n$ tokenctl get work",
            .runs,
            shows: ["\neyJ"]
        ),
        ExampleTreatment(
            "$ systemctl --user enable --now tokenagent.socket\n$ loginctl",
            .runsWith(
                [
                    "systemctl": #"test -f "$CHECKOUT/packaging/systemd/$4""#,
                    "loginctl": #"test "$*" = enable-linger"#,
                ],
                reason: "tests do not touch the user's services"
            )
        ),
        ExampleTreatment(
            "$ tokenctl add ci",
            .isReadBy(
                #"""
                printf 'demo-secret-7f3a\n' >ci.secret
                printf '%s\n' "$EXAMPLE" | sed "s/^\\$ //; s# ci# first#" |
                    sed "s#https://id.example.com#${API%/*}#; s#-id ci#-id demo-confidential#" >lines
                sh -e ./lines
                """#,
                reason: "the stage has its session ci already"
            ),
            shows: ["sessions.d/first.toml", "\neyJ"]
        ),
        ExampleTreatment(
            "# ~/.config/tokenagent/config.toml\n[[socket]]",
            .isReadBy(
                #"""
                umask 077
                { cat "$XDG_CONFIG_HOME/tokenagent/config.toml"; printf '\n%s\n' "$EXAMPLE"; } >config.toml
                TOKENAGENT_CONFIG="$PWD/config.toml" tokenctl config check
                """#,
                reason: "the session that it names is that of the stage"
            )
        ),
        ExampleTreatment(
            "$ docker run --rm -u \"$(id -u):$(id -g)\" \\\n    -v ~/tokens/box",
            .runsWith(
                ["docker": #"case "$*" in *" tokenctl get work") tokenctl get work ;; *) exit 1 ;; esac"#],
                reason: "docker may be missing, and would fetch an image"
            ),
            shows: ["TOKEN\n"]
        ),
        ExampleTreatment(
            "$ tokenctl setup mcp",
            .isReadBy(
                #"printf '%s\n' "$EXAMPLE" | sed 's/^\$ //' | sh -e && cat .mcp.json"#,
                reason: "what is shown is the file"
            ),
            shows: [#""args":["mcp","connect","https://mcp.example.com/mcp"]"#]
        ),
        ExampleTreatment(
            "$ tokenctl vault slots add",
            .isReadBy(
                #"""
                printf '%s\n' "$EXAMPLE" |
                    sed 's/^\$ \(.*\)/echo "correct horse" | \1 --passphrase-stdin/' >lines
                sh -e ./lines
                tokenctl vault slots list
                """#,
                reason: "there is no terminal to enter the passphrase at"
            ),
            shows: ["\n0     passphrase"]
        ),
        ExampleTreatment("$ tokenctl lock\n$ tokenctl unlock", .runs),
        ExampleTreatment(
            "$ tokenctl status work\n$ tokenctl doctor\n",
            .runs,
            shows: ["ready", "\nok ", "OK ("]
        ),
        ExampleTreatment(
            "$ tokenctl logout work\n$ tokenctl remove work",
            .isReadBy(
                #"""
                tokenctl add first --issuer "${API%/*}" --client-id demo-public >added
                tokenctl login first >said
                printf '%s\n' "$EXAMPLE" | sed 's/^\$ //; s/ work/ first/' | sh -e
                tokenctl list
                """#,
                reason: "a session of the configuration file is not removed"
            ),
            shows: ["sessions.d/first.toml", "ci\nmail\nwork\n"]
        ),
        ExampleTreatment(
            "$ tokenctl setup git --undo\n",
            .runsWith(
                ["rm": #"test "$*" = "-r $HOME/.config/tokenagent $HOME/.local/state/tokenagent""#],
                reason: "the stage has other directories, which the test removes"
            )
        ),
    ]
}
