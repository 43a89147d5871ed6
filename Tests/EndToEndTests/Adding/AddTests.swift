// SPDX-License-Identifier: MIT

import DemoIssuer
import Glibc
import TestSupport
import Testing
import Text

extension Scene {
    /// Runs `tokenctl add` for the scene's issuer.
    func add(_ name: String, _ arguments: String...) async throws -> ProgramResult {
        try await agent.tokenctl(
            ["add", name, "--issuer", issuer.issuer, "--client-id", "demo-public"] + arguments
        )
    }

    /// The names in the directory of sessions' files.
    var sessionFiles: [String] { agent.home.names(in: "config/tokenagent/sessions.d") }
}

extension EndToEnd {
    /// Sessions that are made without a line of TOML.
    @Suite struct AddTests {
        @Test(.holds("190")) func `an issuer and a client id are a session that can be logged in to`()
            async throws
        {
            let scene = try await Scene()
            try await scene.agent.start()
            scene.issuer.forgetRequests()
            let result = try await scene.add("z")
            #expect(result.status == 0, "\(result)")
            #expect(result.standardError.isEmpty)
            let path = scene.sessionFile("z")
            #expect(
                result.standardOutput == """
                    Found \(scene.issuer.issuer) (flows browser, device, password, client_credentials; client authentication none, \
                    basic, post; scopes openid, offline_access, email, profile; features pkce, pushed_requests, revocation, \
                    token_exchange)
                    Chosen: flow browser; scopes openid offline_access
                    Created session "z" in \(path)
                      Run: tokenctl login z

                    """
            )
            // Nothing but the published documents was asked for.
            #expect(scene.issuer.requests().allSatisfy { $0.path.hasPrefix("/.well-known/") })
            #expect(File.mode(path) == 0o600)
            #expect(scene.sessionFiles == ["z.toml"])
            try await scene.logIn("z")
            #expect(try await scene.agent.tokenctl("config", "check").status == 0)
            try await scene.agent.end()
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("get", "z").status == 0)
        }

        @Test func `only printed, it is what would be written`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let printed = try await scene.add("z", "--print", "--flow", "device", "--scope", "openid")
            #expect(printed.status == 0, "\(printed)")
            #expect(
                printed.standardOutput.hasSuffix(
                    """
                    [session.z]
                    kind      = "oidc"
                    issuer    = "\(scene.issuer.issuer)"
                    client_id = "demo-public"
                    scopes    = ["openid"]
                    flow      = "device"

                    """
                ),
                "\(printed)"
            )
            #expect(scene.sessionFiles.isEmpty)
            #expect(try await scene.add("z", "--flow", "device", "--scope", "openid").status == 0)
            #expect(File.text(scene.sessionFile("z")) == printed.standardOutput)
        }

        @Test func `a program is told the same as a person`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let result = try await scene.add("z", "--json", "--flow", "password", "--redirect-port", "8400")
            #expect(result.status == 0 && result.standardError.isEmpty, "\(result)")
            let object = try #require(try JSONValue(parsing: result.standardOutput.utf8).object)
            #expect(object["session"] == "z" && object["flow"] == "password")
            #expect(object["file"]?.string == scene.sessionFile("z"))
            #expect(object["scopes"] == ["openid", "offline_access"])
            let flows = object["offer"]?.object?["flows"]
            #expect(flows == ["browser", "device", "password", "client_credentials"])
            #expect(File.text(scene.sessionFile("z"))?.contains("redirect_port = 8400\n") == true)
            let removed = try await scene.agent.tokenctl("remove", "z", "--json")
            let file = JSONValue.string(scene.sessionFile("z")).text
            #expect(removed.standardOutput == #"{"session":"z","file":\#(file)}"# + "\n", "\(removed)")
        }

        @Test func `a provider without discovery needs nothing but a client id, and no agent`() async throws {
            let agent = try AgentUnderTest()
            let result = try await agent.tokenctl(
                "add",
                "hub",
                "--provider",
                "github",
                "--client-id",
                "Iv1.x"
            )
            #expect(result.status == 0, "\(result)")
            #expect(result.standardOutput.hasSuffix("\n  Run: tokenctl login hub\n"), "\(result)")
            let pool = try await agent.tokenctl([
                "add", "pool", "--preset", "cognito", "--client-id", "x", "--issuer",
                "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Abc",
            ])
            #expect(pool.status == 0, "\(pool)")
            let text = File.text(agent.home.path("config/tokenagent/sessions.d/pool.toml")) ?? ""
            #expect(
                text.contains("region       = \"eu-west-1\"\nuser_pool_id = \"eu-west-1_Abc\""),
                "\(text)"
            )
            let named = try await agent.tokenctl("add", "github", "--client-id", "Iv1.x", "--print")
            #expect(
                named.standardOutput.hasSuffix(
                    "[session.github]\nprovider  = \"github\"\nclient_id = \"Iv1.x\"\n"
                ),
                "\(named)"
            )
            #expect(try await agent.tokenctl("config", "check").status == 0)
        }

        @Test(.holds("190")) func `of adds at once one has the name`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let statuses = try await withThrowingTaskGroup(of: Int32.self) { group in
                for _ in 0..<4 { group.addTask { try await scene.add("z").status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.sorted() == [0, 2, 2, 2])
            #expect(scene.sessionFiles == ["z.toml"])
        }

        @Test(.holds("190")) func `what a killed add has left is gone after the next one`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            try scene.agent.home.makeDirectory("config/tokenagent/sessions.d")
            try scene.agent.home.makeDirectory("config/tokenagent/sessions.d/.draft-killed")
            try scene.agent.home.write(
                "[session.y]\n",
                to: "config/tokenagent/sessions.d/.draft-killed/y.toml"
            )
            #expect(try await scene.add("z").status == 0)
            #expect(scene.sessionFiles == ["z.toml"])
        }

        @Test func `the file goes where the running agent reads`() async throws {
            let scene = try await Scene()
            try scene.agent.home.makeDirectory("other")
            let other = try scene.agent.home.write("", to: "other/config.toml")
            try await scene.agent.start("--config", other)
            let result = try await scene.add("z")
            #expect(result.status == 0, "\(result)")
            #expect(scene.agent.home.names(in: "other/sessions.d") == ["z.toml"])
            #expect(scene.sessionFiles.isEmpty)
            try await scene.logIn("z")
            #expect(try await scene.agent.tokenctl("remove", "z").status == 0)
            #expect(scene.agent.home.names(in: "other/sessions.d").isEmpty)
        }

        @Test func `a locked agent looks at the issuer, and what has to be done first is said`() async throws
        {
            let scene = try await Scene()
            try await scene.agent.start()
            try #require(try await scene.agent.tokenctl("lock").status == 0)
            let result = try await scene.add("z")
            #expect(result.status == 0, "\(result)")
            #expect(
                result.standardOutput.hasSuffix("\n  Run: tokenctl unlock && tokenctl login z\n"),
                "\(result)"
            )
            try #require(try await scene.agent.tokenctl("unlock").status == 0)
            try await scene.logIn("z")
        }

        @Test func `a file that the running agent cannot reach is named, with what to do first`() async throws
        {
            let authority = try CertificateAuthority()
            let scene = try await Scene(options: { $0.tls = try authority.issue() })
            let trusted = try scene.agent.home.write(
                authority.certificatePEM,
                to: "config/tokenagent/ca.pem"
            )
            try await scene.agent.start()
            let secret = try scene.agent.home.write("demo-secret-7f3a", to: "secret")
            let result = try await scene.agent.tokenctl([
                "add", "z", "--issuer", scene.issuer.issuer, "--client-id", "demo-confidential",
                "--client-secret-file", secret, "--ca-file", trusted,
            ])
            #expect(result.status == 0, "\(result)")
            if result.standardOutput.contains("Note: ") {
                #expect(result.standardOutput.contains("\(secret) is outside the running agent's sandbox"))
                #expect(
                    result.standardOutput.hasSuffix(
                        "  Run: tokenctl shutdown && tokenctl login z\n"
                    ),
                    "\(result)"
                )
                try await scene.agent.end()
                try await scene.agent.start()
            }
            try await scene.logIn("z")
        }
    }
}
