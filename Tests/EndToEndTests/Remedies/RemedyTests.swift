// SPDX-License-Identifier: MIT

import DemoIssuer
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Remedies, each followed from the state in which it is printed.
    ///
    /// A user who has followed a remedy must not get the same one again.
    @Suite struct RemedyTests {
        private static let other = """
            [session.other]
            kind = "oauth2"
            token_endpoint = "http://127.0.0.1:9/token"
            client_id = "x"
            flow = "password"

            """

        private static func adding(_ keys: String) -> @Sendable (String, PrintedRemedy) -> String {
            { text, _ in sessions(of: text, with: keys) }
        }

        private static func sessions(of text: String, with keys: String) -> String {
            text.replacing("flow = \"password\"\n", with: "flow = \"password\"\n\(keys)\n")
        }

        private static let host = "protocol=https\nhost=git.example.com\n\n"

        private static let ofSessions: [RemedyCase] = [
            RemedyCase(
                name: "nobody has logged in",
                remedy: "tokenctl login work",
                arguments: ["get", "work"],
                followed: .command(more: Scene.password.more, input: Scene.password.input)
            ),
            RemedyCase(
                name: "logged out",
                remedy: "tokenctl login work",
                arguments: ["refresh", "work"],
                prepare: { scene in
                    try await scene.logIn()
                    try #require(try await scene.agent.tokenctl("logout", "work").status == 0)
                },
                followed: .command(more: Scene.password.more, input: Scene.password.input)
            ),
            RemedyCase(
                name: "locked",
                remedy: "tokenctl unlock",
                arguments: ["get", "work"],
                prepare: { scene in
                    try await scene.logIn()
                    try #require(try await scene.agent.tokenctl("lock").status == 0)
                },
                followed: .command()
            ),
            RemedyCase(
                name: "no agent",
                remedy: "Run: tokenagent",
                arguments: ["status"],
                prepare: { scene in try await scene.agent.end() },
                followed: .command()
            ),
            RemedyCase(
                name: "no ID token",
                remedy: "openid in scopes of [session.work], then run tokenctl login work",
                arguments: ["get", "work", "--id-token"],
                configuration: { Scene.session("work", $0.issuer).replacing("\"openid\", ", with: "") },
                prepare: { scene in
                    try await scene.logIn()
                    // An agent that has just looked at its file does not look again within a second.
                    try await scene.agent.end()
                    try await scene.agent.start()
                },
                followed: .configuration(
                    { text, _ in
                        text.replacing("[\"offline_access\"", with: "[\"openid\", \"offline_access\"")
                    },
                    more: Scene.password.more,
                    input: Scene.password.input
                )
            ),
            RemedyCase(
                name: "a role's credentials asked of a session with tokens",
                remedy: "tokenctl get work",
                arguments: ["aws", "work"],
                then: nil,
                isRepeated: true,
                prepare: { scene in try await scene.logIn() },
                followed: .command()
            ),
            RemedyCase(
                name: "the directory of the socket is open",
                remedy: "chmod 700",
                arguments: ["doctor"],
                then: nil,
                prepare: { scene in
                    try await scene.agent.end()
                    #expect(
                        try await scene.paste("mkdir -p run/tokenagent && chmod 777 run/tokenagent").status
                            == 0
                    )
                },
                followed: .command()
            ),
            RemedyCase(
                name: "a mistake in the configuration",
                remedy: "tokenctl config check",
                arguments: ["get", "other"],
                then: nil,
                prepare: { scene in
                    let text = File.text(scene.agent.configurationPath) ?? ""
                    try scene.agent.configure(text + Self.other.replacing("kind", with: "kin"))
                },
                followed: .shell("sed -i 's/^kin =/kind =/' config/tokenagent/config.toml")
            ),
        ]

        private static let ofHosts: [RemedyCase] = [
            RemedyCase(
                name: "git is set up without hosts",
                remedy: "hosts in [session.NAME], then run tokenctl reload",
                arguments: ["setup", "git"],
                followed: .configuration(adding("hosts = [\"git.example.com\"]"))
            ),
            RemedyCase(
                name: "git is set up for a server that no hosts name",
                remedy: "hosts in [session.work], then run tokenctl reload",
                arguments: ["setup", "git", "--session", "work", "--host", "git.example.com"],
                followed: .configuration(adding("hosts = [\"git.example.com\"]"))
            ),
            RemedyCase(
                name: "hosts are written, and not taken over",
                remedy: "tokenctl reload",
                arguments: ["setup", "git"],
                prepare: { scene in
                    let text = File.text(scene.agent.configurationPath) ?? ""
                    try scene.agent.configure(sessions(of: text, with: "hosts = [\"git.example.com\"]"))
                },
                followed: .command()
            ),
            RemedyCase(
                name: "git's helper without a session for any server",
                remedy: "hosts in [session.NAME], then run tokenctl reload",
                arguments: ["git-credential", "get"],
                input: host,
                prepare: { scene in try await scene.logIn() },
                followed: .configuration(adding("hosts = [\"git.example.com\"]"))
            ),
            RemedyCase(
                name: "git's helper with a session without hosts",
                remedy: "hosts in [session.work], then run tokenctl reload",
                arguments: ["git-credential", "get", "--session", "work"],
                input: host,
                prepare: { scene in try await scene.logIn() },
                followed: .configuration(adding("hosts = [\"git.example.com\"]"))
            ),
            RemedyCase(
                name: "two sessions for one server",
                remedy: "hosts so that only one session matches, then run tokenctl reload",
                arguments: ["terraform", "get", "git.example.com"],
                configuration: { scene in
                    Scene.session("work", scene.issuer, more: "hosts = [\"git.example.com\"]")
                        + other + "hosts = [\"git.example.com\"]\n"
                },
                prepare: { scene in try await scene.logIn() },
                followed: .configuration { text, _ in
                    text.replacing(
                        "client_id = \"x\"\nflow = \"password\"\nhosts = [\"git.example.com\"]\n",
                        with: "client_id = \"x\"\nflow = \"password\"\n"
                    )
                }
            ),
            RemedyCase(
                name: "curl asks a server that hosts do not name",
                remedy: "hosts in [session.work] to include",
                arguments: ["curl", "work", "--", "-s", "-o", "/dev/null", "ISSUER/resource"],
                configuration: { Scene.session("work", $0.issuer, more: "hosts = [\"git.example.com\"]") },
                prepare: { scene in try await scene.logIn() },
                followed: .configuration { text, remedy in
                    // hosts in [session.work] to include SERVER, then run …
                    let words = remedy.text.split(separator: ",").first?.split(separator: " ")
                    let server = words?.last ?? ""
                    return text.replacing(
                        "[\"git.example.com\"]",
                        with: "[\"git.example.com\", \"\(server)\"]"
                    )
                }
            ),
        ]

        private static let ofFiles: [RemedyCase] = [
            RemedyCase(
                name: "a name that a session has",
                remedy: "config/tokenagent/sessions.d/z.toml, then run tokenctl reload",
                arguments: ["add", "z", "--issuer", "ISSUER", "--client-id", "demo-public"],
                then: nil,
                isRepeated: true,
                prepare: { scene in try #require(try await scene.add("z").status == 0) },
                followed: .shell(
                    "echo 'hosts = [\"api.example\"]' >>config/tokenagent/sessions.d/z.toml && tokenctl reload"
                )
            ),
            RemedyCase(
                name: "a session of the configuration file is removed",
                remedy: "tokenctl logout work",
                arguments: ["remove", "work"],
                then: 7,
                prepare: { scene in try await scene.logIn() },
                followed: .shell(
                    "tokenctl logout work && printf '' >config/tokenagent/config.toml && tokenctl reload"
                )
            ),
            RemedyCase(
                name: "client credentials without a secret",
                remedy: "--client-secret-stdin, --client-secret-file or",
                arguments: [
                    "add", "z", "--issuer", "ISSUER", "--client-id", "demo-confidential", "--flow",
                    "client_credentials",
                ],
                then: 2,
                followed: .shell(
                    """
                    echo demo-secret-7f3a | tokenctl add z --issuer ISSUER --client-id demo-confidential \
                    --flow client_credentials --client-secret-stdin
                    """
                )
            ),
            RemedyCase(
                name: "endpoints without one to log in at",
                remedy: "--authorization-endpoint, --device-authorization-endpoint or",
                arguments: [
                    "add", "z", "--kind", "oauth2", "--token-endpoint", "ISSUER/token", "--client-id",
                    "demo-public",
                ],
                then: 2,
                followed: .shell(
                    """
                    tokenctl add z --kind oauth2 --token-endpoint ISSUER/token --client-id demo-public \
                    --authorization-endpoint ISSUER/authorize --revocation-endpoint ISSUER/revoke
                    """
                )
            ),
            RemedyCase(
                name: "a word that is no command",
                remedy: "tokenctl status",
                arguments: ["statsu"],
                then: nil,
                isRepeated: true,
                followed: .command()
            ),
            RemedyCase(
                name: "a socket for others below the agent's own directory",
                remedy:
                    "path of the [[socket]] to another directory, then run tokenctl shutdown && tokenagent",
                arguments: ["doctor"],
                then: nil,
                prepare: { scene in
                    let socket = """
                        [[socket]]
                        path = "\(scene.agent.home.path("run/tokenagent/shared/x.sock"))"
                        sessions = ["work"]
                        mode = "0666"
                        users = ["65534"]

                        """
                    try #require(chmod(scene.agent.home.path, 0o711) == 0)
                    try #require(chmod(scene.agent.home.path("run"), 0o711) == 0)
                    try scene.agent.configure(socket + (File.text(scene.agent.configurationPath) ?? ""))
                    try await scene.agent.end()
                    try await scene.agent.start()
                },
                followed: .configuration { text, _ in
                    text.replacing("run/tokenagent/shared/", with: "run/shared/")
                }
            ),
            RemedyCase(
                name: "a socket that others cannot reach",
                remedy: "chmod go+x",
                arguments: ["doctor"],
                then: nil,
                prepare: { scene in
                    let socket = """
                        [[socket]]
                        path = "\(scene.agent.home.path("shared/x.sock"))"
                        sessions = ["work"]
                        mode = "0666"
                        users = ["65534"]

                        """
                    try scene.agent.configure(socket + (File.text(scene.agent.configurationPath) ?? ""))
                    try await scene.agent.end()
                    try await scene.agent.start()
                },
                followed: .command()
            ),
        ]

        @Test(.holds("190"), arguments: ofSessions + ofHosts + ofFiles)
        func `what is printed helps`(_ row: RemedyCase) async throws {
            try await row.verify()
        }
    }
}
