// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

private let isMissing: Comment =
    "the script that runs the server is not here; set TOKENAGENT_IDP_DIR to its directory"
private let isOff: Comment =
    "takes half a minute and PyPI; set TOKENAGENT_TEST_FULL=1, and TOKENAGENT_IDP_DIR to the directory of its script"

extension EndToEnd {
    /// From the address of a server that this project did not write to a token, in two commands.
    @Suite(.full, .enabled(if: Glewlwyd.isAvailable, isMissing), .glewlwyd, .serialized)
    struct NewUserAtGlewlwydTests {
        /// A user who has added the public client at `realm` and logged in there.
        private static func loggedIn(
            at realm: String
        ) async throws -> (user: NewUser, terminal: ProgramAtTerminal) {
            let server = try Glewlwyd.current()
            let user = try NewUser()
            let terminal = try user.addPublicClient(
                at: server.issuer(realm),
                port: 18409,
                browser: server.statePath
            )
            // This server does not name clients without a secret, and has them.
            try await terminal.type("", after: "Client secret file [none]: ")
            try await user.logIn(at: terminal)
            return (user, terminal)
        }

        @Test(.holds("190")) func `an address and a public client are enough`() async throws {
            let (user, terminal) = try await Self.loggedIn(at: "rotate")
            #expect(
                terminal.screen.contains(
                    "Note: the issuer does not announce support for clients without a secret"
                )
            )
            #expect(try await user.hasTokens())
            let removed = try await user.tokenctl("remove", "home")
            #expect(removed.status == 0 && removed.standardError.isEmpty, "\(removed)")
            #expect(try await user.tokenctl("get", "home").status == 7)
        }

        @Test(.holds("190")) func `a program's own login needs the file of its secret`() async throws {
            let server = try Glewlwyd.current()
            let user = try NewUser()
            try user.agent.home.makeDirectory("secrets")
            let secret = try user.agent.home.write(server.secret + "\n", to: "secrets/home")
            let added = try await user.tokenctl(
                "add",
                "home",
                "--issuer",
                server.issuer("keep"),
                "--client-id",
                "tokenagent-confidential",
                "--client-secret-file",
                secret,
                "--flow",
                "client_credentials",
                "--scope",
                "api"
            )
            #expect(added.status == 0, "\(added)")
            // The agent that looked at the issuer was confined before there was a word of that file.
            let isLate = added.standardOutput.contains("  Run: tokenctl shutdown && tokenctl get home")
            if isLate { #expect(try await user.tokenctl("shutdown").status == 0) }
            #expect(try await user.tokenctl("login", "home").status == 0)
            #expect(try await user.hasTokens())
        }

        @Test(.holds("204")) func `a program's own login needs no file if its secret is piped in`()
            async throws
        {
            let server = try Glewlwyd.current()
            let user = try NewUser()
            let added = try await user.tokenctl(
                "add",
                "home",
                "--issuer",
                server.issuer("keep"),
                "--client-id",
                "tokenagent-confidential",
                "--client-secret-stdin",
                "--flow",
                "client_credentials",
                "--scope",
                "api",
                input: server.secret + "\n"
            )
            #expect(added.status == 0 && added.standardError.isEmpty, "\(added)")
            #expect(added.standardOutput.hasSuffix("\n  Run: tokenctl get home\n"), "\(added)")
            #expect(try await user.hasTokens())
            let found = try await user.agent.shell("grep -rlF -e '\(server.secret)' \"$HOME\"")
            #expect(found.standardOutput.isEmpty, "\(found)")
        }

        @Test(.enabled(if: STS.script.isAvailable, isMissing))
        func `a login and a role are two more commands`() async throws {
            try await STS.whileRunning { sts in
                let user = try await Self.loggedIn(at: "keep").user
                let role = "arn:aws:iam::123456789012:role/deploy"
                let added = try await user.tokenctl(
                    "add",
                    "deploy",
                    "--role-arn",
                    role,
                    "--from",
                    "home",
                    "--endpoint",
                    "\(sts.endpoint)/"
                )
                #expect(added.status == 0 && added.standardError.isEmpty, "\(added)")
                #expect(added.standardOutput.hasSuffix("\n  Run: tokenctl aws deploy\n"), "\(added)")
                let credentials = try await user.tokenctl("aws", "deploy")
                #expect(credentials.status == 0, "\(credentials)")
                #expect(credentials.standardOutput.contains("\"SecretAccessKey\""))
                let kept = try await user.tokenctl("remove", "home")
                #expect(kept.status == 2 && kept.standardError.contains("deploy"), "\(kept)")
            }
        }
    }

    /// The same for clients that prove themselves by keys and certificates.
    @Suite(.full, .enabled(if: GlewlwydAuth.isAvailable, isMissing), .glewlwydAuth, .serialized)
    struct NewUserWithKeyTests {
        @Test(.holds("190"), arguments: ["jwt_es256", "mtls"])
        func `a client with a key is added and logged in`(client: String) async throws {
            let server = try GlewlwydAuth.current()
            let registered = server.client(client)
            let user = try NewUser()
            try ProviderScript.writeBrowser(of: user.agent, for: server.statePath)
            // Files beside the configuration are in the agent's reach from its start.
            try user.agent.home.makeDirectory("config")
            try user.agent.home.makeDirectory("config/tokenagent")
            func option(_ name: String, _ member: String) throws -> [String] {
                guard let path = registered[member]?.string else { return [] }
                let text = try #require(File.text(path))
                let copy = try user.agent.home.write(text, to: "config/tokenagent/\(member).pem")
                return [name, copy]
            }
            let ca = try #require(File.text(server.state["ca"]?.string ?? ""))
            let trusted = try user.agent.home.write(ca, to: "config/tokenagent/ca.pem")
            let keyID = client == "mtls" ? [] : ["--client-key-id", registered["kid"]?.string ?? ""]
            let certificate = client == "mtls" ? try option("--client-certificate-file", "cert") : []
            let terminal = try ProgramAtTerminal(
                [
                    BuiltPrograms.client, "add", "home", "--issuer", server.issuer("strong"), "--client-id",
                    registered["client_id"]?.string ?? "", "--ca-file", trusted, "--redirect-port", "18404",
                ] + keyID + certificate + (try option("--client-key-file", "key")),
                environment: user.agent.environment.merging(["TOKENAGENT_AUTOSTART": "1"]) { $1 }
            )
            try await user.logIn(at: terminal)
            #expect(!terminal.screen.contains("Note: "), "\(terminal.screen)")
            #expect(try await user.hasTokens())
        }
    }

    /// The same for a protected resource, whose server registers the client.
    @Suite(.full, .enabled(if: MCPServer.isAvailable, isOff), .mcpServer, .serialized)
    struct NewUserAtResourceTests {
        @Test func `an address alone is enough where the server registers clients`() async throws {
            let server = try await MCPServer.start("--separate-as", "--access-ttl", "60")
            let user = try NewUser()
            try ProviderScript.writeBrowser(of: user.agent, for: server.statePath)
            let terminal = try user.atTerminal("add", "home", "--url", server.resource)
            try await terminal.type("", after: "Client ID [register automatically]: ")
            try await user.logIn(at: terminal)
            #expect(try await user.hasTokens())
            #expect(try server.requests(to: "register").count == 1)
        }
    }

    /// The same for a user pool, whose address is not where its name says.
    @Suite(.full, .enabled(if: MotoPool.script.isAvailable, isMissing), .motoPool, .serialized)
    struct NewUserAtPoolTests {
        @Test(.holds("190")) func `a user pool is named by its issuer`() async throws {
            let pool = try MotoPool.current()
            let user = try NewUser()
            let (region, name) = (pool.string("region"), pool.string("user_pool_id"))
            let added = try await user.tokenctl(
                "add",
                "home",
                "--preset",
                "cognito",
                "--issuer",
                "https://cognito-idp.\(region).amazonaws.com/\(name)",
                "--endpoint",
                pool.string("endpoint"),
                "--client-id",
                pool.client("public")["client_id"]?.string ?? ""
            )
            #expect(added.status == 0, "\(added)")
            try await user.logIn(as: "bob", password: pool.password("bob"))
            #expect(try await user.hasTokens())
        }
    }
}
