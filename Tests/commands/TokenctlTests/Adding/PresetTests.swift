// SPDX-License-Identifier: MIT

import AgentProtocol
import TestSupport
import Testing

@testable import tokenctl_commands

/// The presets of known providers.
struct PresetTests {
    /// The placeholders for an account's own names, each with an example of such a name.
    private static let placeholders = [
        ("APPLICATION", "cli"), ("ORGANIZATION", "org"), ("TENANT-ID", "7a1f"), ("INSTANCE", "one"),
        ("POOL-ID", "eu-west-1_Abc"), ("TENANT", "tenant"), ("REGION", "eu-west-1"), ("REALM", "main"),
        ("HOST", "id.example.com"), ("PORTAL", "d-1234567890"),
    ]

    /// Returns an issuer of an account at the provider.
    private static func issuer(_ preset: Preset) -> String {
        placeholders.reduce(preset.issuer ?? preset.issuerForm) { $0.replacing($1.0, with: $1.1) }
    }

    /// `read_api` alone reads, and repositories over HTTP require a scope of their own.
    @Test func `git can push with a token of GitLab`() throws {
        let preset = try #require(Preset(argument: "gitlab"))
        let server = NewSessionServer(preset: preset, issuer: preset.issuer)
        let wish = NewSession(name: "gitlab", server: server, client: NewSessionClient(id: "cli"))
        let text = try SessionDraft(wish, try FlowAndScopes(wish, nil), nil).text
        #expect(text.contains("scopes"), "\(text)")
        #expect(text.contains("\"write_repository\"") && text.contains("\"read_api\""), "\(text)")
    }

    @Test(.holds("190"), arguments: Preset.allValueStrings)
    func `each makes a session that the configuration takes`(name: String) async throws {
        let preset = try #require(Preset(argument: name))
        let server = NewSessionServer(
            preset: preset,
            kind: preset.kind,
            issuer: preset.kind == .oauth2 ? nil : Self.issuer(preset),
            endpoints: preset.endpoints,
            region: preset.kind == .awsSSO ? "eu-west-1" : nil
        )
        let client = NewSessionClient(id: preset.kind.hasClients ? "cli" : nil)
        let wish = NewSession(name: name, server: server, client: client)
        let offer = ServerProbeMessage {
            $0.flows = ["browser", "device"]
            $0.scopes = ["openid", "offline_access"]
        }
        // Servers of other kinds publish nothing that is read.
        for offer in preset.kind == .oidc ? [nil, offer] : [nil] {
            let text = try SessionDraft(wish, try FlowAndScopes(wish, offer), offer).text
            #expect(text.contains("# \(name): \(preset.source)\n"))
            let place = try TemporaryDirectory()
            let file = try place.write(text, to: "config.toml")
            let result = try await Program.run(
                [BuiltPrograms.agent, "--check-config", "--config", file],
                environment: ["HOME": place.path]
            )
            #expect(result.status == 0, "\(text)\(result.standardError)")
        }
    }

    @Test(arguments: ["gitea", "forgejo", "gitlab"])
    func `the tokens of an installation are for its own server`(name: String) throws {
        let preset = try #require(Preset(argument: name))
        let server = NewSessionServer(preset: preset, issuer: "https://git.example.com:8443")
        var wish = NewSession(name: name, server: server, client: NewSessionClient(id: "cli"))
        let own = try SessionDraft(wish, try FlowAndScopes(wish, nil), nil).text
        #expect(own.contains("= [\"git.example.com:8443\"]\n"), "\(own)")
        wish.hosts = ["other.example"]
        let written = try SessionDraft(wish, try FlowAndScopes(wish, nil), nil).text
        #expect(written.contains("= [\"other.example\"]\n"), "\(written)")
        #expect(!written.contains("git.example.com:8443\"]"))
    }

    @Test(.holds("190"), arguments: Preset.allValueStrings)
    func `each has the source of its facts, and says what an account has of its own`(name: String) throws {
        let preset = try #require(Preset(argument: name))
        #expect(preset.source.hasPrefix("https://") && !preset.source.contains(" "))
        let address = preset.issuer ?? preset.endpoints.first?.address ?? preset.issuerForm
        #expect(address.hasPrefix("https://"))
        #expect(!preset.client.isEmpty)
    }

    @Test func `no name stands twice, and no other word is a preset`() {
        #expect(Set(Preset.allValueStrings).count == Preset.all.count)
        for word in ["", "Google", "google ", "nonesuch"] { #expect(Preset(argument: word) == nil) }
    }

    @Test func `the man page lists them all`() throws {
        let page = try #require(File.text("\(BuiltPrograms.checkout)/man/tokenctl.1"))
        let rows = page.split(separator: "\n").filter { $0.hasPrefix(".It Cm ") }
        let names = rows.map { String($0.dropFirst(7)) }
        #expect(names.filter { Preset.allValueStrings.contains($0) } == Preset.allValueStrings)
    }
}
