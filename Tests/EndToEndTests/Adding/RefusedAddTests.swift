// SPDX-License-Identifier: MIT

import DemoIssuer
import Glibc
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Requests that `tokenctl add` rejects with a one-line error and a remedy, without writing a file.
    @Suite(.full) struct RefusedAddTests {
        @Test(.holds("190")) func `a name that is taken is refused, and what is there stays`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            try scene.writeSession("z", Scene.session("z", scene.issuer))
            let before = File.text(scene.sessionFile("z"))
            let there = try await scene.add("z")
            #expect(there.status == 2 && there.complainsInOneLine)
            #expect(
                there.standardError.contains("session file already exists: \(scene.sessionFile("z"))"),
                "\(there)"
            )
            #expect(File.text(scene.sessionFile("z")) == before)
            #expect(symlink("/nowhere", scene.sessionFile("y")) == 0)
            #expect(try await scene.add("y").status == 2)
            let own = try await scene.add("work")
            #expect(own.status == 2 && own.complainsInOneLine)
            #expect(own.standardError.contains("also defined at \(scene.agent.configurationPath):"), "\(own)")
            #expect(scene.sessionFiles == ["y.toml", "z.toml"])
        }

        @Test(arguments: ["../x", ".x", "a b", "", "a/b", "$(id)", "_x", String(repeating: "x", count: 65)])
        func `a name that is no session's is refused at once`(name: String) async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let result = try await scene.add(name)
            #expect(result.status == 2 && result.complainsInOneLine, "\(result)")
            #expect(
                result.standardError.hasPrefix("tokenctl: a session's name is 1 to 64 letters"),
                "\(result)"
            )
            #expect(scene.sessionFiles.isEmpty && scene.issuer.requests().isEmpty)
        }

        struct Bad: CustomTestStringConvertible {
            let arguments: [String]
            /// A part of the line on standard error.
            let complaint: String
            var testDescription: String { arguments.joined(separator: " ") }

            init(_ arguments: String..., says complaint: String) {
                self.arguments = arguments
                self.complaint = complaint
            }
        }

        /// `ISSUER` stands for the scene's issuer, `HERE` for the agent's home.
        static let requests = [
            Bad(says: "cannot prompt for the issuer: not a terminal\n  Set: --issuer or --provider\n"),
            Bad(
                "--preset",
                "github",
                says: "cannot prompt for the client ID: not a terminal\n  Set: --client-id\n"
            ),
            Bad(
                "--preset",
                "keycloak",
                says: "cannot prompt for the host: not a terminal\n  Set: --value host=TEXT\n"
            ),
            Bad(
                "--provider",
                "keycloack",
                says:
                    "no provider is named \"keycloack\"; did you mean keycloak?\n  Run: tokenctl providers\n"
            ),
            Bad(
                "--kind",
                "saml",
                says: ": oidc, oauth2, json, cognito, aws_role, aws_sso, github_app\n"
                    + "  See: tokenctl add --help\n"
            ),
            Bad("--kind", "json", says: "--kind json requires --provider\n"),
            Bad(
                "--provider",
                "signaling",
                says: "cannot prompt for the base_url: not a terminal\n  Set: --value base_url=TEXT\n"
            ),
            Bad(
                "--preset",
                "aws-sso",
                says: "cannot prompt for the portal: not a terminal\n  Set: --value portal=TEXT\n"
            ),
            Bad(
                "--preset",
                "aws-sso",
                "--issuer",
                "https://a.awsapps.com/start",
                says: "cannot prompt for the region: not a terminal\n  Set: --region\n"
            ),
            Bad(
                "--preset",
                "aws-sso",
                "--issuer",
                "https://a.awsapps.com/start",
                "--region",
                "here/",
                says: "session.z.region: \"here/\" is not an AWS region"
            ),
            Bad("--issuer", "ISSUER", says: "cannot prompt for the client ID: not a terminal"),
            Bad("--issuer", "ISSUER", "--client-id", "x", "--flow", "magic", says: ": browser, device, "),
            Bad(
                "--issuer",
                "ISSUER",
                "--client-id",
                "x",
                "--redirect-port",
                "70000",
                says: "session.z.redirect_port: "
            ),
            Bad(
                "--issuer",
                "ISSUER",
                "--client-id",
                "x",
                "--redirect-uri",
                "http://localhost#x",
                says: "session.z.redirect_uri: "
            ),
            Bad(
                "--issuer",
                "ISSUER",
                "--client-id",
                "x",
                "--redirect-uri",
                "http://localhost/x",
                "--redirect-port",
                "1",
                says: "--redirect-port cannot be combined with --redirect-uri"
            ),
            Bad(
                "--issuer",
                "ISSUER",
                "--client-id",
                "x",
                "--client-secret-file",
                "secret",
                says: "--client-secret-file: secret is not an absolute path"
            ),
            Bad(
                "--issuer",
                "ISSUER",
                "--client-id",
                "x",
                "--client-key-file",
                "HERE/none",
                says: "HERE/none: No such file or directory"
            ),
            Bad(
                "--issuer",
                "ISSUER",
                "--client-id",
                "x",
                "--client-key-id",
                "k",
                says: "session.z.client_key_id: has no effect"
            ),
            Bad("--issuer", "http://example.com", "--client-id", "x", says: "issuer must begin with https"),
            Bad("--issuer", "https://user@example.com", "--client-id", "x", says: "issuer"),
            Bad("--issuer", "file:///etc/passwd", "--client-id", "x", says: "issuer "),
            Bad("--issuer", "id.example.com", "--client-id", "x", says: "issuer "),
            Bad(
                "--issuer",
                "ISSUER",
                "--token-endpoint",
                "ISSUER/t",
                says: "--token-endpoint requires --kind oauth2"
            ),
            Bad("--issuer", "ISSUER", "--endpoint", "ISSUER/t", says: "--endpoint requires --kind cognito"),
            Bad(
                "--kind",
                "oauth2",
                "--client-id",
                "x",
                says: "session.z.token_endpoint: required"
            ),
            Bad(
                "--kind",
                "oauth2",
                "--client-id",
                "x",
                "--token-endpoint",
                "http://example.com/token",
                "--authorization-endpoint",
                "https://example.com/authorize",
                says: "session.z.token_endpoint: "
            ),
            Bad(
                "--kind",
                "oauth2",
                "--client-id",
                "x",
                "--token-endpoint",
                "https://example.com/token",
                says: "require more endpoints than token_endpoint\n  Set: --authorization-endpoint, "
            ),
            Bad(
                "--preset",
                "cognito",
                "--issuer",
                "https://id.example.com",
                "--client-id",
                "x",
                says: "  Set: --issuer to https://cognito-idp.REGION.amazonaws.com/POOL-ID"
            ),
        ]

        @Test(.holds("190"), arguments: requests)
        func `what cannot be is refused with one line`(bad: Bad) async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            func filled(_ text: String) -> String {
                text.replacing("ISSUER", with: scene.issuer.issuer)
                    .replacing("HERE", with: scene.agent.home.path)
            }
            let result = try await scene.agent.tokenctl(["add", "z"] + bad.arguments.map(filled))
            #expect(result.status == 2 && result.complainsInOneLine, "\(result)")
            #expect(result.standardError.contains(filled(bad.complaint)), "\(result)")
            #expect(scene.sessionFiles.isEmpty)
        }

        @Test(.holds("190")) func `a mistake of another session is not its business, one of all is`()
            async throws
        {
            let scene = try await Scene()
            try await scene.agent.start()
            try scene.writeSession("bad", "[session.bad]\n")
            let beside = try await scene.add("z")
            #expect(beside.status == 0, "\(beside)")
            let directory = scene.agent.home.path("config/tokenagent/sessions.d")
            chmod(directory, 0o777)
            let open = try await scene.add("y")
            #expect(open.status == 2 && open.complainsInOneLine)
            #expect(open.standardError.contains("must not be writable by group or others"), "\(open)")
            #expect(!File.exists(scene.sessionFile("y")))
            chmod(directory, 0o700)
            try scene.agent.configure("[agent]\nlead = 1\n")
            let whole = try await scene.add("y")
            #expect(whole.status == 2 && whole.complainsInOneLine)
            #expect(
                whole.standardError.contains("config.toml:2: agent.lead: ")
                    && whole.standardError.contains("  Run: tokenctl config check"),
                "\(whole)"
            )
            #expect(!File.exists(scene.sessionFile("y")))
        }

        @Test(.holds("191"))
        func `a server that nobody vouches for is not looked at, until its authority is named`()
            async throws
        {
            let authority = try CertificateAuthority()
            let scene = try await Scene(options: { $0.tls = try authority.issue() })
            let trusted = try scene.agent.home.write(
                authority.certificatePEM,
                to: "config/tokenagent/ca.pem"
            )
            try await scene.agent.start()
            let refused = try await scene.add("z")
            #expect(refused.status == 2 && refused.complainsInOneLine)
            #expect(refused.standardError.contains("ca_file"), "\(refused)")
            #expect(scene.issuer.requests().isEmpty)
            let made = try await scene.add("z", "--ca-file", trusted)
            #expect(made.status == 0, "\(made)")
            try await scene.logIn("z")
        }
    }
}
