// SPDX-License-Identifier: MIT

import OAuthClient
import ServerSettings
import TestSupport
import Testing

@testable import AgentSettings

/// A session whose resource names its server.
struct ResourceKeyTests {
    private static let address = "https://api.example:8443/v1/mcp"

    private func text(_ keys: String) -> String {
        "[session.work]\nclient_id = \"cli\"\nresource = \"\(Self.address)\"\n\(keys)\n"
    }

    @Test(.holds("193")) func `a resource needs no issuer, and stands for the session's hosts`() throws {
        let session = try #require(try read(text("")).sessions.first)
        #expect(session.server == .resource(ProtectedResource(address: Self.address)))
        #expect(session.hostsServed == ["api.example:8443"] && session.hasHostsOfResource)
        #expect(session.issuerShown == Self.address)
        let named = try #require(
            try read(text("issuer = \"https://as.example\"\nhosts = [\"git.example\"]")).sessions.first
        )
        #expect(
            named.server == .resource(ProtectedResource(address: Self.address, issuer: "https://as.example"))
        )
        #expect(named.hostsServed == ["git.example"] && !named.hasHostsOfResource)
        #expect(named.fingerprint != session.fingerprint)
    }

    @Test(arguments: [
        ("client_secret = \"s\"", "issuer: required: client_secret must not be sent"),
        ("client_secret_file = \"/s\"", "issuer: required: client_secret_file must not be sent"),
        (
            "flow = \"token_exchange\"\nsubject_token_file = \"/t\"",
            "issuer: required: subject_token_file must not be sent"
        ),
        (
            "reauth = [\"command\"]\nreauth_command = [\"pass\"]",
            "issuer: required: reauth_command must not be sent"
        ),
        ("resources = [\"https://b.example/\"]", "resources: cannot be combined with resource"),
        ("issuer = \"http://as.example\"", "issuer: must begin with https://"),
    ])
    func `a mistake is one line with its remedy`(keys: String, part: String) {
        let lines = complaints(text(keys))
        #expect(lines.count == 1 && lines.first?.contains(part) == true, "\(lines)")
    }

    @Test(arguments: [
        (
            "kind = \"oauth2\"\nclient_id = \"cli\"\ntoken_endpoint = \"https://as.example/token\"",
            "resource: requires kind \"oidc\", where it selects the server (set: resources"
        ),
        (
            "kind = \"json\"\nrefresh_url = \"https://as.example/refresh\"",
            "resource: requires kind \"oidc\", where it selects the server"
        ),
    ])
    func `another kind is told whose key it is`(keys: String, part: String) {
        let lines = complaints("[session.work]\n\(keys)\nresource = \"\(Self.address)\"\n")
        #expect(lines.count == 1 && lines.first?.contains(part) == true, "\(lines)")
        #expect(lines.first?.contains("did you mean") == false)
    }
}
