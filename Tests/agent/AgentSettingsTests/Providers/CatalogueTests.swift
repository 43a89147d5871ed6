// SPDX-License-Identifier: MIT

import TOML
import TestSupport
import Testing
import Text

@testable import AgentSettings

/// The provider files that are installed with the agent.
struct CatalogueTests {
    private static let directory = "\(BuiltPrograms.checkout)/packaging/providers"
    private static let catalogue = ProviderCatalogue(directories: [directory])

    private func file(_ name: String) throws -> ProviderFile {
        try #require(try Self.catalogue.file(named: name))
    }

    /// The keys of `[session]` with example values.
    private func keys(_ file: ProviderFile) -> [TOMLTable.Entry] {
        let values = Dictionary(uniqueKeysWithValues: file.values.map { ($0.name, "example") })
        return file.keys(with: values, besides: { _ in false }, report: { Issue.record("\($0): \($1)") })
    }

    private static func addresses(in value: JSONValue) -> [String] {
        if let text = value.string { return text.contains("://") ? [text] : [] }
        return (value.array ?? value.object?.members.map(\.value) ?? []).flatMap { addresses(in: $0) }
    }

    @Test func `the agent of a build finds them`() {
        #expect(ProviderCatalogue.installedDirectory == Self.directory)
        #expect(Self.catalogue.names.count >= 13)
    }

    @Test(.holds("270"), arguments: catalogue.names)
    func `each makes a session of a client ID and its values`(name: String) throws {
        let file = try file(name)
        // The ID of a user pool begins with its region.
        let values = file.values.map { "\($0.name) = \"\($0.name == "pool" ? "example_1" : "example")\"" }
            .joined(separator: ", ")
        let hasClients =
            file.session["kind"]?.text.map { !["aws_sso", "github_app", "json"].contains($0) } ?? true
        let examples = ["base_url": "https://api.example", "from": "other"]
        let own = file.requiredKeys.filter { $0 != "client_id" }
            .map { "\($0) = \"\(examples[$0] ?? "/file")\"\n" }.joined()
        let isWithoutClient = ["service_account_file", "from"].contains { file.requiredKeys.contains($0) }
        let text = """
            [session.w]
            provider = "\(name)"
            provider_values = { \(values) }
            \(hasClients && !isWithoutClient ? "client_id = \"x\"" : "")
            \(file.clientSecret == .required && file.session["client_secret"] == nil ? "client_secret_file = \"/secret\"" : "")
            \(own)
            [session.other]
            issuer = "https://id.example"
            client_id = "x"
            """
        let settings = try SettingsReader(home: "/home/me", providers: Self.catalogue)
            .read(Array(text.utf8), file: "c")
        #expect(settings.sessions.count == 2)
    }

    @Test(.holds("270"), arguments: catalogue.names)
    func `each address is https at one of the file's domains, and has a source`(name: String) throws {
        let file = try file(name)
        // A back end's address is the user's own.
        #expect(file.domains.isEmpty == file.requiredKeys.contains("base_url"))
        // A redirect URI is the user's own address.
        for entry in keys(file) where !["redirect_uri", "refresh_parameters"].contains(entry.key) {
            let addresses = Self.addresses(in: entry.value.json)
            for address in addresses {
                let host = address.dropFirst("https://".count).prefix { $0 != "/" && $0 != ":" }
                #expect(address.hasPrefix("https://"), "\(address)")
                let domains = file.domains.map { PlaceholderText.filled($0) { _ in "example" }.text }
                #expect(domains.contains { host == $0 || host.hasSuffix(".\($0)") }, "\(address)")
            }
            guard !addresses.isEmpty else { continue }
            let facts = file.facts.filter { $0.keys.contains(entry.key) && $0.kind != .assumed }
            #expect(!facts.isEmpty, "\(entry.key) has no source")
        }
        for fact in file.facts {
            let least = fact.kind == .libraries ? 2 : fact.kind == .documented ? 1 : 0
            #expect(fact.sources.count >= least, "\(fact)")
            #expect(fact.sources.allSatisfy { $0.hasPrefix("https://") }, "\(fact)")
            for key in fact.keys { #expect(file.session[key] != nil, "\(key) is not in [session]") }
        }
    }

    @Test(.holds("270"), arguments: catalogue.names)
    func `what a person reads is there`(name: String) throws {
        let file = try file(name)
        #expect(!file.title.isEmpty && file.steps.count <= 6)
        for text in [file.client, file.registrationPage].compactMap(\.self) + file.values.map(\.question) {
            #expect(text.utf8.count <= 160 && !text.hasSuffix("."), "\(text)")
        }
        if let page = file.registrationPage { #expect(page.hasPrefix("https://")) }
        let scopes = file.session["scopes"].map { value in
            if case .array(let scopes) = value.content { scopes.compactMap(\.text) } else { [String]() }
        }
        // A scope of OpenID Connect means the same everywhere.
        let usual = ["openid", "offline_access", "profile", "email"]
        for scope in (scopes ?? []).filter({ !usual.contains($0) }) where !file.scopes.isEmpty {
            #expect(file.scopes.contains { $0.scope == scope }, "\(scope) is not explained")
        }
    }
}
