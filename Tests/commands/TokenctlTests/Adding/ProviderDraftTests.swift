// SPDX-License-Identifier: MIT

import AgentProtocol
import TestSupport
import Testing
import Text

@testable import tokenctl_commands

/// The session files that `tokenctl add` writes for providers.
struct ProviderDraftTests {
    private static func all() throws -> [Provider] {
        (try Provider.list().providers ?? []).map(Provider.init(_:))
    }

    /// Returns the file of a session of the provider `name`, whose values are all `example`.
    private func draft(
        _ name: String,
        issuer: String? = nil,
        offer: ServerProbeMessage? = nil,
        _ change: (inout NewSession) -> Void = { _ in }
    ) throws -> String {
        var provider = try Provider.named(name)
        if issuer == nil {
            provider.fill(
                provider.values.map {
                    NamedValue(name: $0.name ?? "", value: $0.name == "pool" ? "example_1" : "example")
                }
            )
        }
        let server = NewSessionServer(
            provider: provider,
            kind: provider.kind,
            issuer: issuer ?? provider.issuer,
            endpoints: provider.endpoints,
            region: provider.region
        )
        let client = NewSessionClient(
            id: provider.kind.hasClients ? provider.clientID ?? "cli" : nil,
            givesSecret: provider.hasSecret
        )
        var wish = NewSession(name: name, server: server, client: client)
        change(&wish)
        return try SessionDraft(wish, try FlowAndScopes(wish, offer), offer).text
    }

    @Test(.holds("190", "270")) func `each makes a session of few lines that the configuration takes`()
        async throws
    {
        let offer = ServerProbeMessage {
            $0.flows = ["browser", "device"]
            $0.scopes = ["openid", "offline_access"]
        }
        let place = try TemporaryDirectory()
        var counts: [Int] = []
        for provider in try Self.all() where provider.message.requiredKeys?.isEmpty == true {
            // Servers of other kinds publish nothing that is read.
            for offer in provider.kind == .oidc ? [nil, offer] : [nil] {
                let text = try draft(provider.name, offer: offer)
                #expect(text.contains("# \(provider.title): \(try #require(provider.source))\n"), "\(text)")
                let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") && !$0.hasPrefix("[") }
                if offer == nil { counts.append(lines.count) }
                let file = try place.write(text, to: "\(provider.name).toml")
                let result = try await Program.run(
                    [BuiltPrograms.agent, "--check-config", "--config", file],
                    environment: ["HOME": place.path]
                )
                #expect(result.status == 0, "\(text)\(result.standardError)")
            }
        }
        let median = counts.sorted()[counts.count / 2]
        #expect(median <= 3 && counts.allSatisfy { $0 <= 4 }, "\(counts)")
    }

    /// `read_api` alone reads, and repositories over HTTP require a scope of their own.
    @Test func `git can push with a token of GitLab`() throws {
        #expect(try Provider.named("gitlab").scopes == ["openid", "read_api", "write_repository"])
        #expect(try draft("gitlab").contains("scopes") == false)
    }

    @Test(arguments: ["gitea", "forgejo", "gitlab"])
    func `the tokens of an installation are for its own server`(name: String) throws {
        let own = try draft(name, issuer: "https://git.example.com:8443")
        #expect(own.contains("= [\"git.example.com:8443\"]\n"), "\(own)")
        #expect(own.contains("issuer    = \"https://git.example.com:8443\"\n"), "\(own)")
        let written = try draft(name, issuer: "https://git.example.com:8443") { $0.hosts = ["other.example"] }
        #expect(written.contains("= [\"other.example\"]\n"), "\(written)")
        #expect(!written.contains("git.example.com:8443\"]"))
    }

    @Test func `options are written, and what the provider sets is not`() throws {
        let text = try draft("okta") {
            $0.scopes = ["openid", "groups"]
            $0.redirectPort = 9000
        }
        #expect(
            text.hasSuffix(
                """
                [session.okta]
                provider        = "okta"
                provider_values = { organization = "example" }
                client_id       = "cli"
                scopes          = ["openid", "groups"]
                redirect_port   = 9000

                """
            ),
            "\(text)"
        )
    }

    @Test(arguments: ["", "Google", "google ", "nonesuch"]) func `another word is no provider`(word: String) {
        #expect(throws: AgentError.self) { try Provider.named(word) }
    }
}
