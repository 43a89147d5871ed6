// SPDX-License-Identifier: MIT

import EtcdClient
import Glibc
import ServerSettings
import Testing
import TokenCore

@testable import AgentSettings

/// `[fleet]`: where the hosts share their sessions.
@Suite struct FleetSettingsTests {
    private static let fleet = """
        [fleet]
        name = "build"
        endpoints = ["https://etcd1.example.com:2379", "https://etcd2.example.com:2379/"]
        fleet_key_file = "~/fleet.key"

        """

    /// `[fleet]` with `keys` in place of those that are not named there.
    private static func fleet(_ keys: String) -> String {
        let written = Set(keys.split(separator: "\n").compactMap { $0.split(separator: " ").first })
        let kept = fleet.split(separator: "\n").filter { line in
            !written.contains { line.hasPrefix("\($0) ") }
        }
        return kept.joined(separator: "\n") + "\n" + keys + "\n"
    }

    @Test func `the least that is written is completed`() throws {
        let settings = try #require(try read(Self.fleet).fleet)
        #expect(settings.name == "build")
        let origins = settings.endpoints.map(\.origin)
        #expect(origins == ["https://etcd1.example.com:2379", "https://etcd2.example.com:2379"])
        #expect(settings.key == .file("/home/me/fleet.key"))
        #expect(settings.role == .keeper)
        #expect(settings.takeoverTimeout == .seconds(120))
        #expect(settings.user == nil && settings.certificate == nil && settings.authorityFile == nil)
        #expect(settings.commands.isEmpty)
        #expect(settings.files.map(\.path) == ["/home/me/fleet.key"])
    }

    @Test func `the host is called like the machine unless the file says otherwise`() throws {
        var bytes = [CChar](repeating: 0, count: 65)
        try #require(unsafe gethostname(&bytes, bytes.count) == 0)
        let machine = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        #expect(try read(Self.fleet).fleet?.host == machine)
        #expect(try read(Self.fleet("host = \"runner-7\"")).fleet?.host == "runner-7")
    }

    @Test func `everything that may be written is read`() throws {
        let text = Self.fleet(
            """
            user = "host1"
            password_command = ["pass", "show", "etcd"]
            ca_file = "/etc/fleet/ca.pem"
            certificate_file = "/etc/fleet/host1.pem"
            certificate_key_file = "/etc/fleet/host1.key"
            fleet_key_file = "/etc/fleet/key.reader"
            role = "reader"
            host = "host1"
            takeover_patience = "10m"
            """
        )
        let expected = FleetSettings(
            name: "build",
            endpoints: ["https://etcd1.example.com:2379", "https://etcd2.example.com:2379"]
                .compactMap { EtcdEndpoint($0) },
            user: FleetSettings.User(name: "host1", password: .command(["pass", "show", "etcd"])),
            authorityFile: "/etc/fleet/ca.pem",
            certificate: FleetSettings.Certificate(
                file: "/etc/fleet/host1.pem",
                keyFile: "/etc/fleet/host1.key"
            ),
            key: .file("/etc/fleet/key.reader"),
            role: .reader,
            host: "host1",
            takeoverTimeout: .seconds(600)
        )
        #expect(try read(text).fleet == expected)
        #expect(expected.commands == [["pass", "show", "etcd"]])
        #expect(
            expected.files.map(\.key) == [
                "fleet.ca_file", "fleet.certificate_file", "fleet.certificate_key_file",
                "fleet.fleet_key_file",
            ]
        )
    }

    @Test(arguments: [
        ("fleet_key_command = [\"pass\", \"fleet\"]", FleetSettings.KeySource.command(["pass", "fleet"])),
        ("fleet_key_credential = \"fleet\"", .credential("fleet")),
    ])
    func `the fleet's key comes from a program or a credential too`(
        line: String,
        key: FleetSettings.KeySource
    ) throws {
        let text = Self.fleet.replacing("fleet_key_file = \"~/fleet.key\"", with: line)
        #expect(try read(text).fleet?.key == key)
    }

    @Test(arguments: ["http://127.0.0.1:2379", "http://[::1]:2379", "https://etcd"])
    func `a member of etcd is reached over TLS, or on this machine`(endpoint: String) throws {
        #expect(try read(Self.fleet("endpoints = [\"\(endpoint)\"]")).fleet?.endpoints.count == 1)
    }

    @Test(arguments: [
        ("rolle = \"x\"", "fleet.rolle: unknown key; did you mean role?"),
        (
            "name = \"my fleet\"",
            "fleet.name: must be 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"
        ),
        (
            "host = \"-\"",
            "fleet.host: must be 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"
        ),
        ("endpoints = []", "fleet.endpoints: must contain at least one endpoint of etcd"),
        (
            "endpoints = [\"https://a:1\", \"https://A:1/\"]",
            "fleet.endpoints: names https://a:1 twice"
        ),
        (
            "endpoints = [\"http://etcd1:2379\"]",
            "fleet.endpoints: \"http://etcd1:2379\" must begin with https://: plain http is allowed only for "
                + "127.0.0.1 and [::1]"
        ),
        (
            "endpoints = [\"http://localhost:2379\"]",
            "fleet.endpoints: \"http://localhost:2379\" must begin with https://: plain http is allowed only for "
                + "127.0.0.1 and [::1]"
        ),
        (
            "endpoints = [\"etcd1:2379\"]",
            "fleet.endpoints: \"etcd1:2379\" is not an endpoint such as \"https://etcd1.example.com:2379\""
        ),
        (
            "endpoints = [\"https://fd00::1:2379\"]",
            "fleet.endpoints: \"https://fd00::1:2379\" requires brackets around its IPv6 address, as in "
                + "\"https://[fd00::1]:2379\""
        ),
        (
            "endpoints = [\"https://etcd1/v3\"]",
            "fleet.endpoints: \"https://etcd1/v3\" is not an endpoint such as \"https://etcd1.example.com:2379\""
        ),
        ("user = \"host1\"", "fleet.user: requires password_file or password_command"),
        ("password_file = \"/p\"", "fleet.password_file: has no effect without user"),
        ("certificate_file = \"/c\"", "fleet.certificate_file: requires certificate_key_file"),
        (
            "certificate_key_file = \"/k\"",
            "fleet.certificate_key_file: requires certificate_file"
        ),
        (
            "fleet_key_command = [\"pass\"]",
            "fleet.fleet_key_command: mutually exclusive: fleet_key_file, fleet_key_command"
        ),
        ("role = \"read\"", "fleet.role: \"read\" is not one of keeper, reader; did you mean reader?"),
        ("takeover_patience = \"10s\"", "fleet.takeover_patience: must be 30s to 1d, not \"10s\""),
        ("takeover_patience = \"2d\"", "fleet.takeover_patience: must be 30s to 1d, not \"2d\""),
    ])
    func `a mistake in the table is named with its key, and what to do`(keys: String, message: String) {
        let text = Self.fleet(keys)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let key = message.split(separator: ":")[0].dropFirst("fleet.".count)
        let line = (lines.firstIndex { $0.hasPrefix("\(key) ") } ?? -1) + 1
        #expect(complaints(text) == ["config.toml:\(line): \(message)"])
    }

    @Test func `a password has one place`() {
        let text = Self.fleet("user = \"u\"\npassword_file = \"/p\"\npassword_command = [\"p\"]")
        let message = "mutually exclusive: password_file, password_command"
        #expect(complaints(text) == ["config.toml:7: fleet.password_command: \(message)"])
    }

    @Test(arguments: ["fleet_key_credential = \"../x\"", "fleet_key_credential = \"..\""])
    func `a credential is named, not a path`(line: String) {
        let text = Self.fleet.replacing("fleet_key_file = \"~/fleet.key\"", with: line)
        let message = "must be the name of a credential, not a path"
        #expect(complaints(text) == ["config.toml:4: fleet.fleet_key_credential: \(message)"])
    }

    @Test func `what is missing is said together`() {
        #expect(
            complaints("[fleet]\n") == [
                "config.toml:1: fleet.endpoints: required: endpoints of etcd, such as "
                    + "[\"https://etcd1.example.com:2379\"]",
                "config.toml:1: fleet.fleet_key_file: required: key file of the fleet "
                    + "(run: tokenctl fleet init --name NAME --key-file FILE)",
                "config.toml:1: fleet.name: required: name of the fleet, as given to tokenctl fleet init",
            ]
        )
    }

    // MARK: Changes

    @Test func `a change of the table is named, and needs a restart`() throws {
        let old = try read(Self.fleet)
        let new = try read(Self.fleet("role = \"reader\"\nuser = \"u\"\npassword_file = \"/p\""))
        let keys = ["fleet.password_file", "fleet.role", "fleet.user"]
        #expect(new.changes(from: old) == keys.map { ConfigurationChange(.changed, $0) })
        #expect(SettingsAtStart(old).keys(changedIn: new) == keys)
        #expect(SettingsAtStart(old).keys(changedIn: old).isEmpty)
    }

    @Test func `a table that comes or goes is named, and needs a restart`() throws {
        let without = try read("")
        let with = try read(Self.fleet)
        #expect(with.changes(from: without) == [ConfigurationChange(.added, "fleet")])
        #expect(without.changes(from: with) == [ConfigurationChange(.removed, "fleet")])
        #expect(SettingsAtStart(without).keys(changedIn: with) == ["fleet"])
        #expect(SettingsAtStart(with).keys(changedIn: without) == ["fleet"])
    }
}
