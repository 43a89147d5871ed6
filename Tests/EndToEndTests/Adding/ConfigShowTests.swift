// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

extension EndToEnd {
    /// The output of `tokenctl config show` for a session.
    @Suite struct ConfigShowTests {
        @Test(.holds("270")) func `each setting is shown with its source, and no secret`() async throws {
            let agent = try AgentUnderTest()
            let values = "provider_values = { organization = \"acme\" }"
            try agent.configure("[session.sso]\nprovider = \"okta\"\n\(values)\nclient_id = \"x\"\n")
            let shown = try await agent.tokenctl("config", "show", "sso")
            let file = agent.configurationPath
            #expect(shown.standardOutput.hasPrefix("# \(file), line 1\n[session.sso]\n"), "\(shown)")
            for line in [
                "provider        = \"okta\"", "provider_values = { organization = \"acme\" }",
                "client_id       = \"x\"",
                "issuer          = \"https://acme.okta.com/oauth2/default\"    # provider okta",
                "redirect_port   = 8400    # provider okta",
            ] {
                #expect(shown.standardOutput.contains(line + "\n"), "\(shown)")
            }
            let json = try await agent.tokenctl("config", "show", "sso", "--json")
            let object = try JSONValue(parsing: json.standardOutput.utf8).object
            #expect(object?["session"]?.string == "sso" && object?["file"]?.string == file, "\(json)")
            #expect((object?["keys"]?.array?.count ?? 0) >= 5, "\(json)")
        }

        @Test func `a value of any type is shown`() async throws {
            let agent = try AgentUnderTest()
            let rules = "allow           = [{ exe = \"/usr/bin/git\" }, { unit = \"a.service\" }]\n"
            let values = "provider_values = { organization = \"acme\" }\n"
            try agent.configure("[session.sso]\nprovider = \"okta\"\nclient_id = \"x\"\n" + values + rules)
            let shown = try await agent.tokenctl("config", "show", "sso")
            #expect(shown.standardOutput.contains(rules), "\(shown)")
            try agent.home.makeDirectory("config/tokenagent/providers.d")
            try agent.home.write(
                "title = \"Mine\"\n[session]\nfrom = [1979-05-27, 07:32:00]\nfactor = inf\n",
                to: "config/tokenagent/providers.d/mine.toml"
            )
            let provider = try await agent.tokenctl("providers", "mine")
            #expect(
                provider.standardOutput.contains("from = [\"1979-05-27\", \"07:32:00\"]\n"),
                "\(provider)"
            )
            #expect(provider.standardOutput.contains("factor = \"inf\"\n"), "\(provider)")
        }

        @Test(arguments: [["XDG_CONFIG_HOME": "/nonexistent"], [:]])
        func `the mistake in a provider's own file is said wherever the provider is named`(
            other: [String: String]
        ) async throws {
            let scene = try await Scene()
            let agent = scene.agent
            try await agent.start()
            let home = agent.home
            for directory in ["providers.d", "sessions.d"] {
                try home.makeDirectory("config/tokenagent/\(directory)")
            }
            let file = try home.write(
                "title = \"Mine\"\nclientt = \"x\"\n[session]\nissuer = \"https://id.example\"\n",
                to: "config/tokenagent/providers.d/mine.toml"
            )
            try home.write(
                "[session.w]\nprovider = \"mine\"\nclient_id = \"x\"\n",
                to: "config/tokenagent/sessions.d/w.toml"
            )
            let mistake = "\(file):2: clientt: unknown key; did you mean client?"
            for arguments in [
                ["config", "show", "w"], ["add", "mine"], ["add", "z", "--provider", "mine"], ["reload"],
                ["providers", "mine"],
            ] {
                let refused = try await agent.tokenctl(arguments, extraEnvironment: other)
                #expect(refused.status == 2 && refused.standardError.contains(mistake), "\(refused)")
            }
        }

        @Test func `a mistake in the configuration is said, not that a session is missing`() async throws {
            let agent = try AgentUnderTest()
            try agent.configure("[session.w]\nissuer = \"https://id.example\"\nclientt = \"x\"\n")
            let shown = try await agent.tokenctl("config", "show", "w")
            let mistake = "\(agent.configurationPath):3: session.w.clientt: unknown key"
            #expect(shown.status == 2 && shown.standardError.contains(mistake), "\(shown)")
        }

        @Test func `a secret is hidden, and an unknown session is named`() async throws {
            let agent = try AgentUnderTest()
            try agent.configure(
                "[session.w]\nissuer = \"https://id.example\"\nclient_id = \"x\"\nclient_secret = \"hush\"\n"
            )
            let shown = try await agent.tokenctl("config", "show", "w")
            #expect(shown.status == 0 && !shown.standardOutput.contains("hush"), "\(shown)")
            let unknown = try await agent.tokenctl("config", "show", "v")
            #expect(
                unknown.status == 7 && unknown.standardError.contains("no session is named \"v\""),
                "\(unknown)"
            )
        }
    }
}
