// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

/// The secret of the issuer's confidential client.
private let right = "demo-secret-7f3a"

extension Scene {
    /// Adds a session of the confidential client, whose secret goes to the agent.
    fileprivate func add(giving secret: String, _ more: String...) async throws -> ProgramResult {
        try await agent.tokenctl(
            [
                "add", "z", "--issuer", issuer.issuer, "--client-id", "demo-confidential",
                "--client-secret-stdin", "--flow", "client_credentials", "--scope", "api",
            ] + more,
            input: secret
        )
    }

    fileprivate func give(_ secret: String) async throws -> ProgramResult {
        try await agent.tokenctl("login", "z", "--client-secret-stdin", input: secret)
    }

    fileprivate func refresh() async throws -> ProgramResult { try await agent.tokenctl("refresh", "z") }
}

extension EndToEnd {
    /// Client secrets that are in no file, because the user gives them to the agent.
    @Suite struct GivenSecretTests {
        @Test(.holds("204"))
        func `a secret that is given stands in no file and outlives the agent, a lock and a logout`()
            async throws
        {
            let scene = try await Scene()
            try await scene.agent.start()
            let added = try await scene.add(giving: right + "\n")
            #expect(added.status == 0 && added.standardError.isEmpty, "\(added) \(scene.agent.log)")
            let text = File.text(scene.sessionFile("z")) ?? ""
            #expect(text.contains("client_secret_sealed = true\n"), "\(text)")
            #expect(try await scene.refresh().status == 0, "\(scene.agent.log)")
            let audit = try await scene.agent.tokenctl("audit", "z", "--json")
            #expect(audit.standardOutput.contains(#""action":"client_secret""#), "\(audit)")
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(try await scene.refresh().status == 0, "\(scene.agent.log)")
            for command in ["lock", "unlock"] { #expect(try await scene.agent.tokenctl(command).status == 0) }
            #expect(try await scene.refresh().status == 0, "\(scene.agent.log)")
            #expect(try await scene.agent.tokenctl("logout", "z").status == 0)
            #expect(try await scene.agent.tokenctl("login", "z").status == 0)
            let found = try await scene.agent.shell("grep -rlF -e '\(right)' \"$HOME\"")
            #expect(found.standardOutput.isEmpty, "\(found)")
            #expect(!scene.agent.log.contains(right))
        }

        @Test(.holds("204")) func `a person's login shows it, at the code and at each refresh`() async throws
        {
            let scene = try await Scene()
            try await scene.agent.start()
            let added = try await scene.agent.tokenctl(
                [
                    "add", "z", "--issuer", scene.issuer.issuer, "--client-id", "demo-confidential",
                    "--client-secret-stdin",
                ],
                input: right
            )
            #expect(added.status == 0, "\(added)")
            #expect(try await scene.agent.tokenctl("login", "z").status == 0, "\(scene.agent.log)")
            #expect(try await scene.refresh().status == 0, "\(scene.agent.log)")
            #expect(scene.issuer.tokenRequests("authorization_code") == 1)
            #expect(scene.issuer.tokenRequests("refresh_token") == 1)
        }

        @Test(
            .holds("204"),
            arguments: [
                ("", "the client secret is empty\n  Retry: with the client secret"),
                ("\n", "the client secret is empty\n  Retry: with the client secret"),
                ("a\nb\n", "the client secret is not one line of UTF-8 text"),
                (String(repeating: "a", count: 33_000), "the client secret is longer than 32768 bytes"),
            ]
        )
        func `what is no secret makes no session`(input: String, words: String) async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let refused = try await scene.add(giving: input)
            #expect(refused.status == 2 && refused.standardError == "tokenctl: \(words)\n", "\(refused)")
            #expect(scene.sessionFiles.isEmpty)
        }

        @Test(.holds("204")) func `a locked agent keeps none, and the file is taken back`() async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("lock").status == 0)
            let refused = try await scene.add(giving: right)
            #expect(refused.status == 6 && refused.complainsInOneLine, "\(refused)")
            #expect(scene.sessionFiles.isEmpty)
            #expect(try await scene.agent.tokenctl("unlock").status == 0)
            #expect(try await scene.add(giving: right).status == 0)
        }

        @Test(.holds("204")) func `without its secret a session says how to give it, and goes on with it`()
            async throws
        {
            let scene = try await Scene()
            try await scene.agent.start()
            #expect(try await scene.add(giving: right).status == 0)
            try await scene.agent.end()
            File.removeTree(scene.agent.statePath)
            try await scene.agent.start()
            let refused = try await scene.refresh()
            #expect(refused.status == 2 && refused.complainsInOneLine, "\(refused)")
            let command = "tokenctl login z --client-secret-stdin"
            #expect(refused.standardError.contains(command), "\(refused)")
            let wrong = try await scene.give("not-it")
            #expect(wrong.status == 2 && wrong.complainsInOneLine, "\(wrong)")
            let given = try await scene.give(right)
            #expect(given.status == 0, "\(given) \(scene.agent.log)")
            #expect(try await scene.refresh().status == 0)
        }

        @Test(.holds("204")) func `a wrong secret costs neither the right one nor the session`() async throws
        {
            let scene = try await Scene()
            try await scene.agent.start()
            #expect(try await scene.add(giving: right).status == 0)
            #expect(try await scene.refresh().status == 0)
            let status = try await scene.agent.status("z")
            #expect(status["failures"]?.object?.members.isEmpty == true, "\(status)")
            let wrong = try await scene.give("not-it")
            #expect(wrong.status != 0, "\(wrong)")
            let isBack = try await Polling.until { try await scene.refresh().status == 0 }
            #expect(isBack, "\(scene.agent.log)")
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(try await scene.refresh().status == 0, "\(scene.agent.log)")
        }

        @Test(.holds("204")) func `a secret goes to the client and the issuer alone that it was given for`()
            async throws
        {
            let scene = try await Scene()
            try await scene.agent.start()
            #expect(try await scene.add(giving: right).status == 0)
            #expect(try await scene.refresh().status == 0)
            let other = try await DemoIssuer.start()
            let text = try #require(File.text(scene.sessionFile("z")))
            for (old, new) in [(scene.issuer.issuer, other.issuer), ("demo-confidential", "demo-other")] {
                try scene.agent.home.write(
                    text.replacing(old, with: new),
                    to: "config/tokenagent/sessions.d/z.toml",
                    mode: 0o600
                )
                #expect(try await scene.agent.tokenctl("reload").status == 0)
                scene.issuer.forgetRequests()
                let refused = try await scene.refresh()
                #expect(refused.status == 2, "\(refused) \(scene.agent.log)")
                #expect(refused.standardError.contains("--client-secret-stdin"), "\(refused)")
                #expect(other.requests(to: "/token").isEmpty && scene.issuer.requests(to: "/token").isEmpty)
            }
        }

        @Test(.holds("204"), arguments: [[], ["--local"]])
        func `removing the session forgets its secret`(options: [String]) async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            #expect(try await scene.add(giving: right).status == 0)
            let text = try #require(File.text(scene.sessionFile("z")))
            #expect(try await scene.refresh().status == 0)
            let removed = try await scene.agent.tokenctl(["remove", "z"] + options)
            #expect(removed.status == 0, "\(removed)")
            try scene.agent.home.write(text, to: "config/tokenagent/sessions.d/z.toml", mode: 0o600)
            let refused = try await scene.refresh()
            #expect(refused.status == 2, "\(refused)")
            #expect(refused.standardError.contains("--client-secret-stdin"), "\(refused)")
        }

        @Test(.holds("204")) func `a session that keeps no secret takes none`() async throws {
            let scene = try await Scene.loggedIn()
            let refused = try await scene.agent.tokenctl(
                "login",
                "work",
                "--client-secret-stdin",
                input: "s3cret"
            )
            #expect(refused.status == 2 && refused.complainsInOneLine, "\(refused)")
            #expect(refused.standardError.contains("client_secret_sealed = true"), "\(refused)")
        }
    }
}
