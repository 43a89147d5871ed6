// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import AgentSettings

/// The differences between two configurations, and the detection of a changed file.
@Suite struct SettingsChangeTests {
    private static let plain = """
        [session.work]
        kind = "oidc"
        issuer = "https://id.example.com"
        client_id = "cli"

        """

    private func settings(_ text: String) throws -> Settings {
        try SettingsReader(home: "/home/me").read(Array(text.utf8), file: "config.toml")
    }

    @Test(arguments: [
        ("ca_file = \"/etc/ca.pem\"", "ca_file"), ("scopes = [\"openid\"]", "scopes"),
        ("max_session_age = \"1d\"", "max_session_age"), ("hosts = [\"git.example.com\"]", "hosts"),
        ("redirect_port = 7000", "redirect_port"), ("client_secret_file = \"/s\"", "client_secret_file"),
        ("revokes = \"token\"", "revokes"), ("client_secret = \"s\"", "client_secret"),
        ("allow = [{ exe = \"/usr/bin/git\" }]", "allow"), ("dpop = true", "dpop"),
        ("flow = \"device\"", "flow"), ("refresh_before = \"1m\"", "refresh_before"),
        ("refreshes_per_second = 50", "refreshes_per_second"),
    ])
    func `a changed key is named`(line: String, key: String) throws {
        let changes = try settings(Self.plain + line).changes(from: settings(Self.plain))
        let expected = ConfigurationChange(.changed, "session.work.\(key)", session: SessionName("work"))
        #expect(changes == [expected])
    }

    @Test func `every key that changes is named, and what stays the same is not`() throws {
        let old = Self.plain + "revokes = \"grant\"\nwarn_before = \"1d\"\nhosts = [\"a.example\"]\n"
        let new =
            Self.plain + "# a comment\nhosts = [ \"a.example\" ]\nrevokes = \"token\"\nwarn_before = \"2d\"\n"
        let keys = try settings(new).changes(from: settings(old)).map(\.key)
        #expect(keys == ["session.work.revokes", "session.work.warn_before"])
    }

    @Test func `a changed value of the agent is not named at each session`() throws {
        let changes = try settings("[agent]\nrefresh_before = \"1m\"\n" + Self.plain)
            .changes(from: settings(Self.plain))
        #expect(changes == [ConfigurationChange(.changed, "agent.refresh_before")])
    }

    @Test func `a session that is new, gone or of another kind is named`() throws {
        let other = Self.plain.replacing("work", with: "home")
        let swapped = try settings(other).changes(from: settings(Self.plain))
        #expect(swapped.map(\.key) == ["session.home", "session.work"])
        #expect(swapped.map(\.kind) == [.added, .removed])
        let json = "[session.work]\nkind = \"json\"\nrefresh_url = \"https://api.example.com/refresh\"\n"
        #expect(
            try settings(json).changes(from: settings(Self.plain)).map(\.key).contains("session.work.kind")
        )
    }

    @Test(arguments: [
        ("[agent]\nlog_level = \"debug\"\n", "agent.log_level"), ("[agent]\naudit = false\n", "agent.audit"),
        ("[hooks]\nevent = [\"true\"]\n", "hooks.event"), ("[hooks]\ndesktop = false\n", "hooks.desktop"),
        ("[vault]\nkeyfile = \"/k\"\n", "vault.keyfile"),
    ])
    func `a changed key of the agent is named`(text: String, key: String) throws {
        let changes = try settings(text + Self.plain).changes(from: settings(Self.plain))
        #expect(changes == [ConfigurationChange(.changed, key)])
    }

    @Test func `a further socket is named by its path`() throws {
        let socket = Self.plain + "[[socket]]\npath = \"/run/user/1/work.sock\"\nsessions = [\"work\"]\n"
        let changes = try settings(socket).changes(from: settings(Self.plain))
        #expect(changes == [ConfigurationChange(.added, "socket /run/user/1/work.sock")])
    }

    @Test func `a file that is written anew, replaced or removed shows without being read`() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("one", to: "config.toml")
        let first = ConfigurationStamp(of: path)
        #expect(ConfigurationStamp(of: path) == first)
        try directory.write("three", to: "config.toml")
        let second = ConfigurationStamp(of: path)
        #expect(second != first)
        let other = try directory.write("three", to: "other")
        #expect(Program.succeeds("mv '\(other)' '\(path)'"))
        let third = ConfigurationStamp(of: path)
        #expect(third != second)
        #expect(Program.succeeds("rm '\(path)'"))
        #expect(ConfigurationStamp(of: path) != third)
    }
}
