// SPDX-License-Identifier: MIT

/// The examples of `tokenagent-clients(7)` that are in no other page.
extension ExampleTreatment {
    static let clients = web + packages + containers + clouds + storage + mail + code

    /// Returns a command that filters the example with `expression` of sed(1) and runs the result in a shell.
    private static func shell(_ expression: String) -> String {
        #"printf '%s\n' "$EXAMPLE" | sed -n '\#(expression)' | sh"#
    }

    /// Returns a command that filters a list with `expression` of sed(1) and runs its words as a command.
    private static func list(_ expression: String) -> String {
        #"printf '%s\n' "$EXAMPLE" | sed -n '\#(expression)' | tr -d '",' | sh"#
    }

    /// The example, and the line of Python that uses it.
    private static func python(_ line: String) -> String {
        #"{ printf '%s\n' "$EXAMPLE"; echo '\#(line)'; } | python3 -B -"#
    }

    /// The value at `place` of an example that is JSON.
    private static func value(_ place: String) -> String {
        #"printf '%s\n' "$EXAMPLE" | python3 -B -c 'import json, sys; print(json.load(sys.stdin)\#(place))'"#
    }

    /// A file of the page's own tables.
    private static func names(_ file: String) -> String { "printf '%s\\n' \"$EXAMPLE\" | grep -F '\(file)'" }

    private static let web = [
        ExampleTreatment("$ git config --global credential.helper tokenagent", .runs),
        ExampleTreatment(
            "$ tokenctl get work --format header | curl",
            .runs,
            shows: [#""hello":"alice""#]
        ),
        ExampleTreatment(
            "$ f=$(mktemp) && h=$(tokenctl get work --format header)",
            .runsWith(["wget": #"cat "${1#--config=}""#], reason: "it would ask a server on the internet"),
            shows: ["header = Authorization: Bearer TOKEN"]
        ),
        ExampleTreatment(
            "$ http -A bearer",
            .runsWith(["http": #"echo "$4""#], reason: "HTTPie is not installed here"),
            shows: ["TOKEN"]
        ),
    ]

    private static let packages = [
        ExampleTreatment(
            "$ PATH=/usr/local/libexec/tokenagent:$PATH uv",
            .runsWith(
                ["uv": #"PATH="$LINKS:$PATH"; keyring get https://127.0.0.1/simple oauth2"#],
                reason: "uv would ask an index"
            ),
            shows: ["TOKEN"]
        ),
        ExampleTreatment(
            "$ TWINE_USERNAME=",
            .runsWith(["twine": #"echo "$TWINE_PASSWORD""#], reason: "twine would send a package"),
            shows: ["TOKEN"]
        ),
        ExampleTreatment(
            "$ tokenctl exec work --env BEARER_TOKEN",
            .runsWith(["npm": #"echo "$BEARER_TOKEN""#], reason: "npm would ask a registry"),
            shows: ["TOKEN"]
        ),
        ExampleTreatment(
            "[registries.inner]",
            .isReadBy(list(#"s/^.*stdout", \(.*\)\]$/\1/p"#), reason: "cargo would ask a registry"),
            shows: ["TOKEN"]
        ),
    ]

    private static let containers = [
        ExampleTreatment(
            "user:\n",
            .isReadBy(names("tokenFile: /run/user/1000/tokens/work"), reason: "the file is that of the page")
        ),
        ExampleTreatment(
            "[Service]\n",
            .isReadBy(names("token:/run/user/1000/tokens/work"), reason: "the file is that of the page")
        ),
        ExampleTreatment(
            "authorization:\n",
            .isReadBy(names("_file: /run/user/1000/tokens/work"), reason: "the file is that of the page")
        ),
        ExampleTreatment(
            "$ skopeo inspect",
            .runsWith(
                ["skopeo": "echo https://127.0.0.1 | docker-credential-tokenagent get"],
                reason: "there is no registry here"
            ),
            shows: [#""Secret":"TOKEN""#]
        ),
        ExampleTreatment(
            "$ podman pull",
            .runsWith(
                ["podman": "echo https://127.0.0.1 | docker-credential-tokenagent get"],
                reason: "there is no registry here"
            ),
            shows: [#""Secret":"TOKEN""#]
        ),
        ExampleTreatment(
            "$ bwrap",
            .runsWith(
                ["bwrap": #"while [ "$1" != tokenctl ]; do shift; done; exec "$@""#],
                reason: "the scene has no [[socket]]; ReachTests have"
            ),
            shows: ["TOKEN"]
        ),
        ExampleTreatment(
            "$ tokenctl ssh",
            .isReadBy(
                #"${EXAMPLE#\$ } -N 2>said && exit 1; test $? = 2; cat said"#,
                reason: "there is no other host; SSHTests have one"
            ),
            shows: ["does not support -N"]
        ),
        ExampleTreatment(
            "Host far\n",
            .isReadBy(
                #"printf '%s\n' "$EXAMPLE" >far && ssh -T -F ./far -G far"#,
                reason: "there is no other host"
            ),
            shows: ["remoteforward /home/me/.tokenagent.sock /run/user/1000/sockets/work.sock"]
        ),
    ]

    private static let clouds = [
        ExampleTreatment(
            "$ export AWS_ROLE_ARN",
            .runsWith(
                ["aws": #"cat "$AWS_WEB_IDENTITY_TOKEN_FILE""#],
                reason: "Amazon's library is run by STSTests"
            ),
            shows: ["eyJ"]
        ),
        ExampleTreatment(
            "[profile deploy]",
            .isReadBy(
                #"$(printf '%s\n' "$EXAMPLE" | sed -n 's/^credential_process = //p') --help"#,
                reason: "the scene has no role; STSTests have"
            ),
            shows: ["USAGE: tokenctl aws"]
        ),
        ExampleTreatment(
            "{\"type\": \"external_account\"",
            .isReadBy(
                value(#"["credential_source"]["executable"]["command"]"#) + " | sh",
                reason: "Google's library would ask Google"
            ),
            shows: [#""success":true"#]
        ),
        ExampleTreatment(
            "{\"credential_source\": {\"file\"",
            .isReadBy(value(#"["credential_source"]["file"]"#), reason: "the file is that of the page"),
            shows: ["/run/user/1000/tokens/id"]
        ),
        ExampleTreatment(
            "$ tokenctl exec --endpoint deploy",
            .isReadBy(
                #"${EXAMPLE#\$ } 2>said && exit 1; test $? = 7; cat said"#,
                reason: "the scene has no role; CloudLibraryTests have"
            ),
            shows: ["no [[proxy]] or [[endpoint]] named \"deploy\""]
        ),
        endpoint("google", "gce-metadata", "GCE_METADATA_HOST", shows: "127.0.0.1:"),
        endpoint("vault", "azure-msi", "IDENTITY_ENDPOINT", shows: "/msi/token"),
        ExampleTreatment("$ tokenctl setup gcloud", .runs, shows: ["tokenctl google work"]),
        ExampleTreatment(
            "$ tokenctl exec work --id-token",
            .runsWith(
                ["python3": #"cat "$AZURE_FEDERATED_TOKEN_FILE""#],
                reason: "Microsoft's library would ask Microsoft"
            ),
            shows: ["eyJ"]
        ),
    ]

    /// An example that runs a program with an endpoint of `kind`, whose address is in `variable`.
    private static func endpoint(
        _ name: String,
        _ kind: String,
        _ variable: String,
        shows: String
    ) -> ExampleTreatment {
        let script = #"""
            umask 077; echo 'import os; print(os.environ["\#(variable)"])' >app.py
            printf '\n[[endpoint]]\nname="%s"\nkind="%s"\nlisten="127.0.0.1:0"\nsession="work"\nno_secret=true\naudiences=["https://a.test"]\n' \#(name) \#(kind) >>"$XDG_CONFIG_HOME/tokenagent/config.toml"
            ${EXAMPLE#\$ }
            """#
        return ExampleTreatment(
            "$ tokenctl exec --endpoint \(name)",
            .isReadBy(script, reason: "the page has no table of it; CloudLibraryTests have the library"),
            shows: [shows]
        )
    }

    private static let storage = [
        ExampleTreatment(
            "$ tokenctl exec work -- sh -c 'davix",
            .runsWith(["davix-get": #"echo "$2""#], reason: "davix is not installed here"),
            shows: ["Authorization: Bearer TOKEN"]
        ),
        ExampleTreatment(
            "[storage calendar]",
            .isReadBy(
                list(#"s/^password.fetch = \["command", \(.*\)\]$/\1/p"#),
                reason: "vdirsyncer is not installed here"
            ),
            shows: ["TOKEN"]
        ),
    ]

    private static let mail = [
        ExampleTreatment(
            "AuthMechs XOAUTH2",
            .isReadBy(shell(#"s/^PassCmd "\(.*\)"$/\1/p"#), reason: "mbsync gives it to a shell"),
            shows: ["MAIL"]
        ),
        ExampleTreatment(
            "auth xoauth2",
            .isReadBy(shell(#"s/^passwordeval "\(.*\)"$/\1/p"#), reason: "msmtp and mpop give it to a shell"),
            shows: ["MAIL"]
        ),
        ExampleTreatment(
            "set imap_authenticators",
            .isReadBy(
                shell(#"s/^set imap_oauth_refresh_command = "\(.*\)"$/\1/p"#),
                reason: "mutt and neomutt give it to a shell"
            ),
            shows: ["MAIL"]
        ),
        ExampleTreatment(
            "source = imaps+oauthbearer",
            .isReadBy(shell("s/^.*-cred-cmd = //p"), reason: "aerc gives it to a shell"),
            shows: ["MAIL\nMAIL\n"]
        ),
        ExampleTreatment(
            "[retriever]",
            .isReadBy(
                list(#"s/^password_command = (\(.*\))$/\1/p"#),
                reason: "getmail is not installed here"
            ),
            shows: ["MAIL"]
        ),
        ExampleTreatment(
            "from subprocess import check_output",
            .isReadBy(python("print(token())"), reason: "offlineimap calls it"),
            shows: ["MAIL"]
        ),
        ExampleTreatment(
            "$ tokenctl get mail --format curl",
            .runsWith(["curl": "cat"], reason: "there is no mail server here"),
            shows: [#"oauth2-bearer = "MAIL""#]
        ),
        ExampleTreatment(
            "import base64, imaplib",
            .isReadBy(
                #"""
                cat >server.py <<'END'
                import imaplib
                class Server:
                    def __init__(self, host): pass
                    def authenticate(self, name, answer): print(answer(b"").decode())
                imaplib.IMAP4_SSL = Server
                END
                { cat server.py; printf '%s\n' "$EXAMPLE"; } | python3 -B -
                """#,
                reason: "there is no mail server here"
            ),
            shows: ["auth=Bearer MAIL"]
        ),
    ]

    private static let code = [
        ExampleTreatment(
            "import http.client",
            .isReadBy(#"printf '%s\n' "$EXAMPLE" | python3 -B -"#, reason: "it is Python"),
            shows: ["TOKEN\n"]
        ),
        ExampleTreatment(
            #""headersHelper": "tokenctl get"#,
            .isReadBy(shell(#"s/^"headersHelper": "\(.*\)"$/\1/p"#), reason: "clients give it to a shell"),
            shows: [#"{"Authorization":"Bearer TOKEN"}"#]
        ),
        ExampleTreatment(
            "import json, subprocess",
            .isReadBy(python("print(oauth_cb(None)[0])"), reason: "librdkafka calls it"),
            shows: ["TOKEN"]
        ),
        ExampleTreatment(
            "import subprocess\n",
            .isReadBy(
                python(
                    "from types import SimpleNamespace as N; f = N(request=N(headers={})); request(f); print(f.request.headers)"
                ),
                reason: "mitmproxy calls it"
            ),
            shows: ["Bearer TOKEN"]
        ),
    ]
}
