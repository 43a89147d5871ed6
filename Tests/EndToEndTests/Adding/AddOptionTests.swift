// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Options of `tokenctl add` other than those for the server and the client.
    @Suite(.full) struct AddOptionTests {
        private static let rows: [(arguments: [String], lines: [String])] = [
            (
                ["--host", "git.example.com", "--host", "*.corp.example"],
                [#"hosts = ["git.example.com", "*.corp.example"]"#]
            ),
            (
                ["--client-authentication", "post", "--client-secret-file", "SECRET"],
                [#"client_authentication = "post""#]
            ),
            (
                ["--authorization-parameter", "hd=example.com", "--authorization-parameter", "a.b=x=\"y\""],
                [#"authorization_parameters = { hd = "example.com", "a.b" = "x=\"y\"" }"#]
            ),
            (["--prompt", "consent"], [#"prompt = "consent""#]), (["--prompt", ""], [#"prompt = """#]),
            (["--revocation-endpoint", "ISSUER/revoke"], [#"revocation_endpoint = "ISSUER/revoke""#]),
            (
                ["--resource", "https://a.example/", "--resource", "https://b.example/"],
                [#"resources = ["https://a.example/", "https://b.example/"]"#]
            ),
            (
                ["--assertion-file", "SECRET", "--audience", "x"],
                [#"flow = "jwt_bearer""#, #"assertion_file = "SECRET""#, #"audience = "x""#]
            ),
            (
                [
                    "--assertion-key-file", "SECRET", "--assertion-key-id", "k1", "--assertion-claim",
                    "sub=me", "--scope",
                    "api",
                ],
                [
                    #"assertion_key_file = "SECRET""#, #"assertion_key_id = "k1""#,
                    #"assertion_claims = { sub = "me" }"#,
                ]
            ),
            (["--from", "work", "--flow", "jwt_bearer"], [#"from = "work""#, #"flow = "jwt_bearer""#]),
            (["--from", "work"], [#"from = "work""#, #"flow = "token_exchange""#]),
        ]

        @Test(.holds("190"), arguments: rows)
        func `an option is a key of the session, which the configuration takes`(
            arguments: [String],
            lines: [String]
        ) async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let secret = try scene.agent.home.write("x", to: "config/tokenagent/secret")
            func named(_ text: String) -> String {
                text.replacing("ISSUER", with: scene.issuer.issuer).replacing("SECRET", with: secret)
            }
            let add = ["add", "z", "--issuer", scene.issuer.issuer, "--client-id", "demo-public"]
            let result = try await scene.agent.tokenctl(add + arguments.map(named))
            #expect(result.status == 0, "\(result)")
            let text = try #require(File.text(scene.sessionFile("z")))
            let written = text.split(separator: "\n").map { line in
                line.split(separator: " ").joined(separator: " ")
            }
            for line in lines { #expect(written.contains(named(line)), "\(text)") }
            #expect(try await scene.agent.tokenctl("config", "check").status == 0)
        }

        @Test func `after an import the next command names where the refresh token goes`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let add = ["add", "z", "--issuer", scene.issuer.issuer, "--client-id", "demo-public"]
            let result = try await scene.agent.tokenctl(add + ["--flow", "import"])
            let line = "  Run: tokenctl login z --refresh-token-stdin"
            #expect((result.standardOutput + result.standardError).contains(line), "\(result)")
        }

        @Test(arguments: [
            (
                ["--assertion-file", "/etc/hosts", "--from", "work"],
                "--from cannot be combined with --assertion-file"
            ),
            (["--assertion-claim", "a=b"], "require --assertion-key-file"),
            (["--flow", "jwt_bearer"], "--flow jwt_bearer requires --from, --assertion-file"),
            (
                ["--assertion-file", "/etc/hosts", "--flow", "browser"],
                "an assertion requires --flow jwt_bearer"
            ),
            (["--app-id", "1"], "--app-id, --installation and --key-file require each other"),
            (["--kind", "github_app"], "--app-id and --kind github_app require each other"),
            (["--authorization-parameter", "hd"], "hd"), (["--client-authentication", "magic"], "magic"),
            (
                ["--url", "https://a.example/", "--resource", "https://b.example/"],
                "--resource cannot be combined with --url"
            ),
            (
                ["--kind", "cognito", "--revocation-endpoint", "https://a.example/"],
                "--revocation-endpoint requires"
            ),
        ])
        func `what does not fit together is wrong usage`(arguments: [String], word: String) async throws {
            let agent = try AgentUnderTest()
            let result = try await agent.tokenctl(["add", "z"] + arguments)
            #expect(result.status == 2 && result.complainsInOneLine, "\(result)")
            #expect(result.standardError.contains(word), "\(result)")
        }

        @Test(.holds("190")) func `an app of GitHub's needs neither a client nor a login`() async throws {
            let double = try GitHubDouble()
            let issuer = try await DemoIssuer.start()
            for route in double.routes { issuer.add(route) }
            let scene = try await Scene()
            try await scene.agent.start()
            let key = try scene.agent.home.write(
                double.key.privateKeyPEM,
                to: "config/tokenagent/app.pem",
                mode: 0o600
            )
            let result = try await scene.agent.tokenctl([
                "add", "app", "--kind", "github_app", "--app-id", "\(GitHubDouble.appID)", "--installation",
                GitHubDouble.account, "--key-file", key, "--endpoint", issuer.issuer, "--repository", "web",
                "--permission", "contents=read",
            ])
            #expect(
                result.status == 0 && result.standardOutput.hasSuffix("  Run: tokenctl get app\n"),
                "\(result)"
            )
            let token = try await scene.agent.tokenctl("get", "app")
            #expect(token.status == 0 && double.isAlive(token.line), "\(token) \(scene.agent.log)")
        }

        /// A server without metadata does not say where.
        @Test(.holds("190"), arguments: [true, false])
        func `a session that is made of endpoints revokes at a logout where that is said`(
            isSaid: Bool
        ) async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let issuer = scene.issuer.issuer
            let ending = isSaid ? ["--revocation-endpoint", "\(issuer)/revoke"] : []
            let result = try await scene.agent.tokenctl(
                [
                    "add", "z", "--kind", "oauth2", "--token-endpoint", "\(issuer)/token", "--client-id",
                    "demo-public",
                    "--flow", "password", "--scope", "offline_access",
                ] + ending
            )
            #expect(result.status == 0, "\(result)")
            let note = "Note: without revocation_endpoint, a logout does not revoke tokens at the server\n"
            #expect(result.standardOutput.contains(note) != isSaid, "\(result)")
            try await scene.logIn("z")
            #expect(try await scene.agent.tokenctl("logout", "z").status == 0)
            #expect(scene.issuer.requests(to: "/revoke").isEmpty != isSaid)
        }

        @Test(.holds("190")) func `a person is asked for the name too, and for what a server does not say`()
            async throws
        {
            let scene = try await Scene()
            try await scene.agent.start()
            let terminal = try ProgramAtTerminal(
                [
                    BuiltPrograms.client, "add", "--kind", "oauth2", "--token-endpoint",
                    "\(scene.issuer.issuer)/token",
                    "--flow", "password", "--client-id", "demo-public",
                ],
                environment: scene.agent.environment
            )
            try await terminal.type("z", after: "Name of the new session: ")
            try await terminal.type(
                "\(scene.issuer.issuer)/revoke",
                after: "Revocation endpoint [none]: "
            )
            try await terminal.type("n", after: "Log in now? [Y/n] ")
            #expect(try await terminal.shows("  Run: tokenctl login z"), "\(terminal.screen)")
            #expect(File.text(scene.sessionFile("z"))?.contains("revocation_endpoint") == true)
            let nobody = try await scene.agent.tokenctl("add")
            #expect(
                nobody.status == 2 && nobody.standardError.contains("  Run: tokenctl add NAME"),
                "\(nobody)"
            )
        }

        @Test(.holds("190"))
        func `the certificates of an authority are copied to where a running agent reads`() async throws {
            let authority = try CertificateAuthority()
            let scene = try await Scene(options: { $0.tls = try authority.issue() })
            try await scene.agent.start()
            let home = scene.agent.home
            let trusted = try home.write(authority.certificatePEM, to: "ca.pem")
            let printed = try await scene.add("z", "--ca-file", trusted, "--print")
            let copy = home.path("config/tokenagent/sessions.d/z.pem")
            #expect(printed.status == 0 && printed.standardOutput.contains("\"\(copy)\""), "\(printed)")
            #expect(!File.exists(copy))
            let added = try await scene.add("z", "--ca-file", trusted)
            #expect(added.status == 0 && !added.standardOutput.contains("restart"), "\(added)")
            // The original is no longer needed.
            File.removeTree(trusted)
            try await scene.logIn("z")
            #expect(try await scene.agent.tokenctl("config", "check").status == 0)
            let missing = try await scene.add("y", "--ca-file", home.path("config/other.pem"))
            #expect(missing.status == 2 && scene.sessionFiles == ["z.pem", "z.toml"], "\(missing)")
            #expect(try await scene.agent.tokenctl("remove", "z").status == 0)
            #expect(scene.sessionFiles.isEmpty)
        }

        /// The certificate is that of another authority, so `add` fails.
        @Test func `of an add that fails no copy is left`() async throws {
            let scene = try await Scene(options: { $0.tls = try CertificateAuthority().issue() })
            try await scene.agent.start()
            let other = try scene.agent.home.write(try CertificateAuthority().certificatePEM, to: "ca.pem")
            let result = try await scene.add("z", "--ca-file", other)
            #expect(result.status == 2, "\(result)")
            #expect(scene.sessionFiles.isEmpty)
        }

        @Test func `scopes that were chosen are held against what the server lists`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let result = try await scene.add("z", "--scope", "api")
            #expect(result.status == 0, "\(result)")
            #expect(result.standardOutput.contains("(set: --scope offline_access)"), "\(result)")
            let other = try await scene.add("y", "--scope", "nonsense", "--scope", "offline_access")
            #expect(
                other.standardOutput.contains("Note: the issuer lists only these scopes: api "),
                "\(other)"
            )
        }
    }
}
