// SPDX-License-Identifier: MIT

import OAuthClient
import Testing

@testable import AgentSettings

/// A session whose resource names its server.
struct ResourceKeyTests {
    private static let address = "https://api.example:8443/v1/mcp"

    private func read(_ keys: String) throws(ConfigurationProblems) -> ConfiguredSession? {
        let text = "[session.work]\nclient_id = \"cli\"\nresource = \"\(Self.address)\"\n\(keys)\n"
        return try SettingsReader(home: "/home/me").read(Array(text.utf8), file: "config.toml").sessions.first
    }

    @Test func `a resource needs no issuer, and stands for the session's hosts`() throws {
        let session = try #require(try read(""))
        #expect(session.server == .resource(ProtectedResource(address: Self.address)))
        #expect(session.hostsServed == ["api.example:8443"])
        #expect(session.issuerShown == Self.address)
        let named = try #require(try read("issuer = \"https://as.example\"\nhosts = [\"git.example\"]"))
        #expect(
            named.server == .resource(ProtectedResource(address: Self.address, issuer: "https://as.example"))
        )
        #expect(named.hostsServed == ["git.example"])
        #expect(named.fingerprint != session.fingerprint)
    }

    @Test(arguments: [
        ("client_secret = \"s\"", "issuer: is missing: client_secret is for one server"),
        ("client_secret_file = \"/s\"", "issuer: is missing: client_secret_file is for one server"),
        ("resources = [\"https://b.example/\"]", "resources: must not stand beside resource"),
        ("issuer = \"http://as.example\"", "issuer: must begin with https://"),
    ])
    func `a mistake is one line with its remedy`(keys: String, part: String) {
        do throws(ConfigurationProblems) {
            _ = try read(keys)
            Issue.record("\(keys) was read")
        } catch {
            #expect(error.lines.count == 1 && error.lines[0].contains(part), "\(error.lines)")
        }
    }
}
