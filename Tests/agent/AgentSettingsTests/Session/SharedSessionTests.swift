// SPDX-License-Identifier: MIT

import OAuthClient
import Testing
import TokenCore

@testable import AgentSettings

/// `fleet = true`: sessions that all hosts of a fleet have.
@Suite struct SharedSessionTests {
    private static let fleet = """
        [fleet]
        name = "build"
        endpoints = ["https://etcd1.example.com:2379"]
        fleet_key_file = "/etc/fleet.key"

        """
    private static let session = """
        [session.work]
        issuer = "https://id.example.com"
        client_id = "cli"
        fleet = true

        """

    @Test func `a session of the fleet is shared, and others are not`() throws {
        let other = Self.session.replacing("work", with: "own").replacing(
            "fleet = true",
            with: "fleet = false"
        )
        let settings = try read(Self.fleet + Self.session + other)
        #expect(settings.sessions.map(\.isShared) == [true, false])
        #expect(settings.sessions.map(\.policy.isShared) == [true, false])
    }

    @Test func `a session cannot be shared without a fleet`() {
        let message = "requires the table [fleet]"
        #expect(complaints(Self.session) == ["config.toml:4: session.work.fleet: \(message)"])
    }

    @Test func `a fleet with a mistake is one mistake`() {
        #expect(complaints("fleet = 3\n" + Self.session).count == 1)
        #expect(complaints(Self.fleet.replacing("https", with: "http") + Self.session).count == 1)
    }

    @Test(arguments: [
        (
            "kind = \"oauth2\"\ntoken_endpoint = \"https://id/t\"\nclient_id = \"c\"\nclient_secret_file = \"/s\"\n"
                + "flow = \"client_credentials\"",
            "flow \"client_credentials\""
        ),
        ("kind = \"command\"\ncommand = [\"az\"]", "kind \"command\""),
        (
            "kind = \"github_app\"\napp_id = \"1\"\nkey_file = \"/k\"\ninstallation = 1",
            "kind \"github_app\""
        ),
        (
            "kind = \"aws_role\"\nfrom = \"own\"\nrole_arn = \"arn:aws:iam::123456789012:role/r\"\n"
                + "region = \"eu-west-1\"",
            "kind \"aws_role\""
        ),
        (
            "issuer = \"https://id.example.com\"\nclient_id = \"c\"\nflow = \"token_exchange\"\nfrom = \"own\"",
            "flow \"token_exchange\""
        ),
        (
            "issuer = \"https://id.example.com\"\nclient_id = \"c\"\nflow = \"jwt_bearer\"\n"
                + "assertion_file = \"/a\"\ntoken_endpoint = \"https://id.example.com/t\"",
            "flow \"jwt_bearer\""
        ),
    ])
    func `a session without a refresh token cannot be shared`(keys: String, reason: String) {
        let own = "[session.own]\nissuer = \"https://id.example.com\"\nclient_id = \"c\"\n"
        let found = complaints(Self.fleet + own + "[session.s]\n\(keys)\nfleet = true\n")
        let message = "requires a refresh token: with \(reason), each host gets its own tokens"
        #expect(found.count == 1)
        #expect(found.first?.hasSuffix(": session.s.fleet: \(message)") == true, "\(found)")
    }

    @Test(arguments: [
        ("issuer = \"https://id.example.com\"", "requires client_id"),
        ("resource = \"https://mcp.example.com/mcp\"", "requires client_id"),
        (
            "kind = \"aws_sso\"\nstart_url = \"https://a.example.com/start\"\nregion = \"eu-west-1\"",
            "does not support kind \"aws_sso\""
        ),
    ])
    func `a session whose client each host registers cannot be shared`(keys: String, requirement: String) {
        let found = complaints(Self.fleet + "[session.s]\n\(keys)\nfleet = true\n")
        let message = "\(requirement): each host would register its own client"
        #expect(found.count == 1)
        #expect(found.first?.hasSuffix(": session.s.fleet: \(message)") == true, "\(found)")
    }

    @Test func `a reader has no session whose tokens are bound to a key`() throws {
        let session = Self.session + "dpop = true\n"
        #expect(try read(Self.fleet + session).sessions.map(\.isShared) == [true])
        let message = "cannot be combined with role = \"reader\": readers have no key for DPoP proofs"
        #expect(
            complaints(Self.fleet + "role = \"reader\"\n" + session)
                == ["config.toml:10: session.work.dpop: \(message)"]
        )
    }

    @Test func `a session of the fleet has no lead of its own`() {
        let message = "has no effect: fleet sessions are refreshed when a third of the lifetime remains"
        #expect(
            complaints(Self.fleet + Self.session + "refresh_before = \"1m\"\n")
                == ["config.toml:9: session.work.refresh_before: \(message)"]
        )
    }

    @Test(arguments: [
        (
            "issuer = \"https://id.example.com\"\nclient_id = \"c\"",
            FleetLoginSettings(kind: "oidc", issuer: "https://id.example.com", client: "c", endpoint: "")
        ),
        (
            "issuer = \"https://id.example.com\"\nclient_id = \"c\"\ntoken_endpoint = \"https://t.example.com/t\"",
            FleetLoginSettings(
                kind: "oidc",
                issuer: "https://id.example.com",
                client: "c",
                endpoint: "https://t.example.com/t"
            )
        ),
        (
            "resource = \"https://mcp.example.com/mcp\"\nclient_id = \"https://me.example.com/c.json\"",
            FleetLoginSettings(
                kind: "oidc",
                issuer: "https://mcp.example.com/mcp",
                client: "https://me.example.com/c.json",
                endpoint: ""
            )
        ),
        (
            "kind = \"oauth2\"\ntoken_endpoint = \"https://id.example.com/t\"\nclient_id = \"c\"\n"
                + "authorization_endpoint = \"https://id.example.com/a\"",
            FleetLoginSettings(
                kind: "oauth2",
                issuer: "https://id.example.com/t",
                client: "c",
                endpoint: "https://id.example.com/t"
            )
        ),
        (
            "kind = \"json\"\nrefresh_url = \"https://api.example.com/r\"",
            FleetLoginSettings(
                kind: "json",
                issuer: "https://api.example.com/r",
                client: "",
                endpoint: "https://api.example.com/r"
            )
        ),
        (
            "kind = \"cognito\"\nregion = \"eu-west-1\"\nuser_pool_id = \"eu-west-1_a\"\nclient_id = \"c\"",
            FleetLoginSettings(
                kind: "cognito",
                issuer: "eu-west-1_a",
                client: "c",
                endpoint: "https://cognito-idp.eu-west-1.amazonaws.com/"
            )
        ),
    ])
    func `a record is bound to server and client`(keys: String, binding: FleetLoginSettings) throws {
        let session = try #require(
            try read(Self.fleet + "[session.s]\nfleet = true\n\(keys)\n").sessions.first
        )
        #expect(session.fleetBinding == binding, "\(session.fleetBinding)")
    }

    @Test func `a session that joins the fleet is named`() throws {
        let own = Self.session.replacing("fleet = true\n", with: "")
        let changes = try read(Self.fleet + Self.session).changes(from: read(Self.fleet + own))
        let key = "session.work.fleet"
        #expect(changes == [ConfigurationChange(.changed, key, session: SessionName("work"))])
    }
}
