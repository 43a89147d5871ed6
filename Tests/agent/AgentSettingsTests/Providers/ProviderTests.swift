// SPDX-License-Identifier: MIT

import Glibc
import ServerSettings
import TestSupport
import Testing

@testable import AgentSettings

/// Sessions that name a provider.
struct ProviderTests {
    private static let file = """
        title = "Acme"
        domains = ["acme.example"]
        client = "an app"
        [values]
        tenant = "Tenant"
        [session]
        issuer = "https://{tenant}.acme.example"
        scopes = ["openid", "api"]
        redirect_port = 8400
        revokes = "token"
        hosts = ["{tenant}.acme.example"]
        [[facts]]
        keys = ["issuer"]
        kind = "documented"
        sources = ["https://acme.example/docs"]
        checked = 2026-11-30
        [[transcript]]
        of = "code"
        """

    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        try directory.write(Self.file, to: "acme.toml", mode: 0o644)
    }

    private func read(_ session: String) throws(ConfigurationProblems) -> Settings {
        let providers = ProviderCatalogue(directories: [directory.path])
        return try SettingsReader(home: "/home/me", providers: providers)
            .read(Array("[session.w]\nclient_id = \"x\"\n\(session)".utf8), file: "config.toml")
    }

    private func complaints(_ session: String) -> [String] {
        do throws(ConfigurationProblems) {
            _ = try read(session)
            return []
        } catch {
            return error.lines
        }
    }

    @Test func `a session has the keys of its provider that it does not set itself`() throws {
        let session = try #require(
            try read(
                """
                provider = "acme"
                provider_values = { tenant = "one" }
                scopes = ["openid"]
                """
            )
            .sessions.first
        )
        #expect(session.issuer == "https://one.acme.example")
        #expect(session.scopes == ["openid"])
        #expect(session.authorization.redirect == .port(8400))
        #expect(session.hosts == ["one.acme.example"])
    }

    /// Seconds since 1970: 2027-11-30, a day later, and a day earlier.
    @Test(arguments: [(1_827_532_800, false), (1_827_619_200, true), (1_827_446_400, false)])
    func `facts that nobody has checked for a year are mentioned`(now: Int64, areOld: Bool) throws {
        let session = try #require(
            try read("provider = \"acme\"\nprovider_values = { tenant = \"one\" }").sessions.first
        )
        let note = try #require(session.providerAge).note(at: now)
        #expect(
            note
                == (areOld
                    ? "the facts about Acme were checked on 2026-11-30; a newer release may have newer ones"
                    : nil)
        )
    }

    @Test func `the oldest fact counts, and a file without dates says nothing of its age`() throws {
        let provider = "provider = \"acme\"\nprovider_values = { tenant = \"one\" }"
        let older =
            Self.file + "\n[[facts]]\nkeys = []\nkind = \"assumed\"\nsources = []\nchecked = 2024-02-29\n"
        try directory.write(older, to: "acme.toml", mode: 0o644)
        #expect(try read(provider).sessions.first?.providerAge?.checked == "2024-02-29")
        let undated = Self.file.replacing("checked = 2026-11-30\n", with: "")
        try directory.write(undated, to: "acme.toml", mode: 0o644)
        #expect(try read(provider).sessions.first?.providerAge == nil)
    }

    @Test func `a value is not needed for keys that the session sets itself`() throws {
        let text = "provider = \"acme\"\nissuer = \"https://id.example\"\n"
        let session = try #require(try read(text).sessions.first)
        #expect(session.issuer == "https://id.example" && session.hosts.isEmpty)
    }

    @Test func `keys of a provider that do not fit the session's flow are no mistake of the user`() throws {
        let keys = "flow = \"client_credentials\"\nclient_secret_file = \"/s\"\n"
        let text = "provider = \"acme\"\nprovider_values = { tenant = \"one\" }\n\(keys)"
        #expect(try read(text).sessions.first?.flow == .clientCredentials)
        let own = "issuer = \"https://id.example\"\n\(keys)revokes = \"token\"\n"
        #expect(complaints(own).count == 1)
    }

    @Test(
        arguments: [
            ("", ["provider_values.tenant: required: Tenant"]),
            (
                "provider_values = { tenant = \"a/b\" }",
                ["provider_values.tenant: must be one part of an address"]
            ),
            (
                "provider_values = { tenant = \"\" }",
                ["provider_values.tenant: must be one part of an address"]
            ),
            (
                "provider_values = { tenant = \"a\", tenent = \"b\" }",
                ["provider_values.tenent: unknown value; did you mean tenant?"]
            ),
        ]
    )
    func `values are asked for, and fit for an address`(values: String, says: [String]) {
        let found = complaints("provider = \"acme\"\n\(values)\n")
        #expect(found.count == says.count, "\(found)")
        for (line, part) in zip(found, says) { #expect(line.contains("session.w.\(part)"), "\(line)") }
    }

    @Test func `an unknown provider leads to the list`() {
        let message =
            "session.w.provider: no provider is named \"acm\"; did you mean acme? (run: tokenctl providers)"
        #expect(complaints("provider = \"acm\"\n") == ["config.toml:3: \(message)"])
        #expect(complaints("provider = \"../acme\"\n").count == 1)
        #expect(complaints("provider = 5\n").count == 1)
    }

    @Test func `a file that others can write is not used`() throws {
        try directory.write(Self.file, to: "open.toml", mode: 0o666)
        let found = complaints("provider = \"open\"\n")
        #expect(found.count == 1 && found[0].contains("(run: chmod go-w "), "\(found)")
        #expect(Program.succeeds("chmod go-w '\(directory.path)/open.toml'"))
        #expect(complaints("provider = \"open\"\nprovider_values = { tenant = \"a\" }\n").isEmpty)
    }

    @Test(.enabled(if: getuid() == 0, "only root can give files away"))
    func `a file of another user is not used, nor one in another user's directory`() throws {
        let file = directory.path("foreign.toml")
        try directory.write(Self.file, to: "foreign.toml", mode: 0o644)
        #expect(chown(file, 65_534, 65_534) == 0)
        let start = "config.toml:3: session.w.provider: cannot be used: \(file): "
        let owner = "must be owned by this user or root, not by uid 65534"
        #expect(complaints("provider = \"foreign\"\n") == [start + owner])
        #expect(chown(file, 0, 0) == 0 && chown(directory.path, 65_534, 65_534) == 0)
        #expect(complaints("provider = \"foreign\"\n") == [start + "its directory " + owner])
        #expect(chown(directory.path, 0, 0) == 0 && chmod(directory.path, 0o777) == 0)
        let others = "its directory must not be writable by group or others (run: chmod go-w "
        #expect(complaints("provider = \"foreign\"\n").first?.hasPrefix(start + others) == true)
    }

    @Test func `there is a limit to the files of a directory, and it is said`() throws {
        let own = try TemporaryDirectory()
        #expect(Program.succeeds("cd '\(own.path)' && seq -f 'x%.0f' 10001 | xargs touch"))
        let listing = ProviderCatalogue(directories: [own.path, directory.path]).listing
        #expect(listing.names == ["acme"])
        let reason = "\(own.path): contains more than 10000 files, so none was read"
        #expect(listing.problems.map { $0.description(in: "") } == [reason])
    }

    @Test(
        arguments: [
            ("title = 1\n[session]\nissuer = \"x\"\n", "1: title: must be a string"),
            ("title = \"x\"\n", "session: required"),
            ("title = \"x\"\nscope = 1\n[session]\nissuer = \"x\"\n", "2: scope: unknown key"),
            ("title = \"x\n", "1: "),
        ]
    )
    func `a mistake in a file is told with its place`(text: String, says: String) throws {
        try directory.write(text, to: "bad.toml", mode: 0o644)
        let found = complaints("provider = \"bad\"\n")
        let start = "config.toml:3: session.w.provider: cannot be used: \(directory.path)/bad.toml:"
        #expect(found.first?.hasPrefix(start) == true && found.first?.contains(says) == true, "\(found)")
    }

    @Test func `the user's own files come first`() throws {
        let own = try TemporaryDirectory()
        let changed = Self.file.replacing("8400", with: "8500")
        try own.write(changed, to: "acme.toml", mode: 0o600)
        let catalogue = ProviderCatalogue(directories: [own.path, directory.path])
        #expect(try catalogue.file(named: "acme")?.path == own.path("acme.toml"))
        #expect(catalogue.names == ["acme"])
        #expect(ProviderCatalogue(directories: ["/nonexistent"]).names.isEmpty)
    }
}
