// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Two commands lead from the address of a server to a token.
    @Suite struct NewUserTests {
        @Test(.holds("190")) func `a person is asked for what is missing, and logged in`() async throws {
            let issuer = try await DemoIssuer.start()
            let user = try NewUser()
            let terminal = try user.atTerminal("add", "home")
            try await terminal.type(issuer.issuer, after: "Provider, or issuer URL: ")
            // It looks before it asks.
            try await terminal.type("demo-public", after: "Client ID: ")
            #expect(terminal.screen.contains("Found \(issuer.issuer) (flows browser, "), "\(terminal.screen)")
            try await terminal.type("", after: "Log in now? [Y/n] ")
            #expect(try await terminal.shows("Logged in to \"home\""), "\(terminal.screen)")
            #expect(terminal.screen.contains("Chosen: flow browser; scopes openid offline_access"))
            let token = try await user.tokenctl("get", "home")
            #expect(token.status == 0 && token.standardError.isEmpty, "\(token)")
            #expect(issuer.tokenRequests("authorization_code") == 1)
            let used = try await user.agent.shell(
                "curl -s -H 'Authorization: Bearer \(token.line)' \(issuer.issuer)/resource"
            )
            #expect(used.standardOutput.contains(#""hello":"alice""#), "\(used)")
            let file = user.agent.home.path("config/tokenagent/sessions.d/home.toml")
            #expect(File.mode(file) == 0o600)
            #expect(File.mode(user.agent.home.path("config/tokenagent/sessions.d")) == 0o700)
        }

        @Test func `a person who declines is told the command`() async throws {
            let issuer = try await DemoIssuer.start()
            let user = try NewUser()
            let terminal = try user.atTerminal(
                "add",
                "home",
                "--issuer",
                issuer.issuer,
                "--client-id",
                "demo-public"
            )
            try await terminal.type("n", after: "Log in now? [Y/n] ")
            #expect(try await terminal.shows("  Run: tokenctl login home"), "\(terminal.screen)")
            #expect(try await user.tokenctl("get", "home").status == 4)
            #expect(issuer.requests(to: "/authorize").isEmpty)
        }

        @Test func `a part of a provider's name finds it`() async throws {
            let user = try NewUser()
            let terminal = try user.atTerminal("add", "pool")
            try await terminal.type("calend", after: "Provider, or issuer URL: ")
            #expect(try await terminal.shows("Client ID: "), "\(terminal.screen)")
            let other = try user.atTerminal("add", "pool")
            try await other.type("nothing", after: "Provider, or issuer URL: ")
            #expect(try await other.shows("No provider matches nothing. "), "\(other.screen)")
            try await other.type("Cogn", after: "Provider, or issuer URL: ")
            #expect(try await other.shows("AWS region, such as eu-west-1: "), "\(other.screen)")
            for line in terminal.screen.split(separator: "\r\n") { #expect(line.utf8.count <= 72, "\(line)") }
        }

        @Test func `a provider asks for the account's own part and says what to register`() async throws {
            let user = try NewUser()
            let terminal = try user.atTerminal("add", "pool")
            try await terminal.type("cognito", after: "Provider, or issuer URL: ")
            try await terminal.type("eu-west-1", after: "AWS region, such as eu-west-1: ")
            try await terminal.type("eu-west-1_Abc", after: "User pool ID, such as eu-west-1_Example00: ")
            try await terminal.type("app", after: "Client ID: ")
            #expect(
                terminal.screen.contains("Register an app client of the user pool at"),
                "\(terminal.screen)"
            )
            try await terminal.type("n", after: "Log in now? [Y/n] ")
            #expect(try await terminal.shows("  Run: tokenctl login pool"), "\(terminal.screen)")
        }

        @Test func `a provider whose clients have a secret asks for the file that holds it`() async throws {
            let user = try NewUser()
            let terminal = try user.atTerminal(
                "add",
                "z",
                "--print",
                "--preset",
                "google",
                "--kind",
                "oauth2"
            )
            try await terminal.type("me", after: "Client ID: ")
            try await terminal.type("secret", after: "Client secret file [none]: ")
            #expect(try await terminal.shows("secret is not an absolute path"), "\(terminal.screen)")
        }

        @Test func `a client secret can be typed, and is kept sealed`() async throws {
            let user = try NewUser()
            let terminal = try user.atTerminal(
                "add",
                "z",
                "--preset",
                "google",
                "--kind",
                "oauth2",
                "--token-endpoint",
                "https://127.0.0.1:9/token",
                "--authorization-endpoint",
                "https://127.0.0.1:9/auth"
            )
            try await terminal.type("", after: "Revocation endpoint [none]: ")
            try await terminal.type("me", after: "Client ID: ")
            try await terminal.type("type", after: "Client secret file [none]: ")
            try await terminal.type("hush", after: "Client secret: ")
            try await terminal.type("n", after: "Log in now? [Y/n] ")
            #expect(try await terminal.shows("  Run: tokenctl login z"), "\(terminal.screen)")
            #expect(!terminal.screen.contains("hush"))
        }

        @Test func `a token for another use is one command more than the login`() async throws {
            let issuer = try await DemoIssuer.start()
            let user = try NewUser()
            let home = ["add", "home", "--issuer", issuer.issuer, "--client-id", "demo-public"]
            #expect(try await user.tokenctl(home).status == 0)
            let added = try await user.tokenctl(
                "add",
                "made",
                "--from",
                "home",
                "--issuer",
                issuer.issuer,
                "--client-id",
                "demo-public",
                "--scope",
                "openid",
                "--audience",
                "api://reports"
            )
            #expect(added.status == 0 && added.standardError.isEmpty, "\(added)")
            #expect(added.standardOutput.hasSuffix("\n  Run: tokenctl get made\n"), "\(added)")
            // Until somebody has logged in there is nothing to exchange, and what helps is named.
            let early = try await user.tokenctl("get", "made")
            #expect(early.status == 4 && early.standardError.contains("tokenctl login home"), "\(early)")
            try await user.logIn(as: "alice", password: "alice-password")
            let token = try await user.tokenctl("get", "made")
            let first = try await user.tokenctl("get", "home")
            #expect(token.status == 0 && token.line != first.line, "\(token)")
            #expect(issuer.tokenRequests("urn:ietf:params:oauth:grant-type:token-exchange") == 1)
        }

        @Test(arguments: [
            (["--role-arn", "arn:x"], "--role-arn requires --from"),
            (["--kind", "aws_role", "--from", "home"], "--role-arn and --kind aws_role require each other"),
            (["--kind", "cognito", "--from", "home"], "--from requires --kind oidc, oauth2 or aws_role"),
            (["--from", "home", "--flow", "device"], "--from cannot be combined with a --flow"),
            (
                ["--issuer", "https://id.example", "--region", "eu-west-1"],
                "--region requires --kind aws_role"
            ),
            (["--client-secret-file", "/s", "--client-secret-stdin"], "cannot be combined with"),
        ])
        func `options that do not belong together are named`(options: [String], words: String) async throws {
            let user = try NewUser()
            let refused = try await user.tokenctl(["add", "z"] + options)
            #expect(refused.status == 2 && refused.standardError.contains(words), "\(refused)")
        }

        @Test(.holds("190"))
        func `an agent that began before there was any configuration takes a session over`()
            async throws
        {
            let issuer = try await DemoIssuer.start()
            let user = try NewUser()
            #expect(try await user.tokenctl("list").status == 0)
            let added = try await user.tokenctl(
                "add",
                "home",
                "--issuer",
                issuer.issuer,
                "--client-id",
                "demo-public"
            )
            #expect(added.status == 0, "\(added)")
            #expect(added.standardOutput.hasSuffix("  Run: tokenctl login home\n"), "\(added)")
            try await user.logIn(as: "alice", password: "alice-password")
            #expect(try await user.tokenctl("get", "home").status == 0)
        }
    }
}
