// SPDX-License-Identifier: MIT

import OAuthClient
import ServerSettings
import TestSupport
import Testing
import TokenCore

@testable import AgentSettings

/// Sessions at IAM Identity Center, and the roles that are made from them.
struct IdentityCenterSettingsTests {
    private static func center(_ keys: String = "region = \"eu-west-1\"\n") -> String {
        "[session.sso]\nkind = \"aws_sso\"\nstart_url = \"https://example.awsapps.com/start\"\n\(keys)\n"
    }

    private static func role(_ keys: String = "", from: String = "sso", name: String = "reader") -> String {
        """
        [session.\(name)]
        kind = "aws_role"
        from = "\(from)"
        account_id = "111122223333"
        role_name = "ReadOnly"
        \(keys)

        """
    }

    @Test func `a start address and a region are enough`() throws {
        let session = try #require(try read(Self.center()).sessions.first)
        let center = IdentityCenter(
            startURL: "https://example.awsapps.com/start",
            tokenService: "https://oidc.eu-west-1.amazonaws.com",
            portal: "https://portal.sso.eu-west-1.amazonaws.com"
        )
        #expect(session.server == .identityCenter(center))
        #expect(session.flow == .device && !session.hasNoLogin && !session.hasRoleCredentials)
        #expect(session.policy.roles == .variants && !session.policy.tokensOutliveLogin)
        #expect(!session.policy.startsByItself && session.policy.minimumValidity == .seconds(30))
        #expect(session.issuerShown == "https://example.awsapps.com/start")
    }

    @Test func `other addresses take the place of the region`() throws {
        let keys = """
            sso_oidc_endpoint = "http://127.0.0.1:9/oidc/"
            sso_endpoint = "https://portal.example"
            ca_file = "/etc/ca.pem"
            flow = "device"
            max_session_age = "8h"
            warn_before = "1h"
            """
        let session = try #require(try read(Self.center(keys)).sessions.first)
        let center = IdentityCenter(
            startURL: "https://example.awsapps.com/start",
            tokenService: "http://127.0.0.1:9/oidc",
            portal: "https://portal.example"
        )
        #expect(session.server == .identityCenter(center) && session.trust.caFile == "/etc/ca.pem")
        #expect(session.policy.maximumSessionAge == .seconds(28_800))
    }

    @Test(
        arguments: [
            ("", "session.sso.region: required"),
            ("sso_endpoint = \"https://portal.example\"", "session.sso.region: required"),
            ("region = \"evil.example/\"", "is not an AWS region"),
            ("region = \"eu west\"", "is not an AWS region"),
            ("region = \"a@b\"", "is not an AWS region"), ("region = \"a:1\"", "is not an AWS region"),
            ("region = \"r\"\nsso_endpoint = \"http://portal.example\"", "session.sso.sso_endpoint"),
            ("region = \"r\"\nsso_oidc_endpoint = \"https://a/?b\"", "must not contain a query"),
            ("region = \"r\"\nflow = \"browser\"", "must be one of device"),
            ("region = \"r\"\nclient_id = \"c\"", "session.sso.client_id: unknown key"),
            ("region = \"r\"\nclient_secret = \"c\"", "session.sso.client_secret: unknown key"),
            ("region = \"r\"\nscopes = [\"s\"]", "session.sso.scopes: unknown key"),
            ("region = \"r\"\nreauth = [\"command\"]", "only a user can log in"),
            ("region = \"r\"\naccount_id = \"111122223333\"", "session.sso.account_id: unknown key"),
        ] as [(String, String)]
    )
    func `mistakes are told with their key`(keys: String, words: String) {
        let told = complaints(Self.center(keys))
        #expect(told.count == 1 && told[0].contains(words), "\(told)")
    }

    @Test func `a start address is an address, as browsers show it without its end`() {
        let bare = Self.center()
        let missing = complaints(
            bare.replacing("start_url = \"https://example.awsapps.com/start\"\n", with: "")
        )
        #expect(missing.count == 1 && missing[0].contains("session.sso.start_url: required"), "\(missing)")
        let copied = complaints(bare.replacing("/start\"", with: "/start#/\""))
        #expect(copied.count == 1 && copied[0].contains("must not contain a fragment"), "\(copied)")
    }

    @Test(.holds("188")) func `a role has the portal of the login that it is made from, and its certificate`()
        throws
    {
        let center = Self.center("region = \"eu-west-1\"\nca_file = \"/etc/ca.pem\"")
        // The role may be written before its source.
        let sessions = try read(Self.role() + center).sessions
        let session = try #require(sessions.first)
        let role = try #require(AssignedAWSRole(account: "111122223333", name: "ReadOnly"))
        #expect(
            session.server
                == .portalRole(PortalRole(role, portal: "https://portal.sso.eu-west-1.amazonaws.com"))
        )
        #expect(session.trust.caFile == "/etc/ca.pem" && !session.sources.usesIDToken)
        #expect(session.hasNoLogin && session.hasRoleCredentials && session.policy.roles == .own)
        #expect(session.policy.minimumValidity == .seconds(900) && session.policy.startsByItself)
        #expect(DerivationGraph(sessions).loginSubstitute(for: session) == .run("tokenctl login sso"))
        let own = try read(center + Self.role("ca_file = \"/etc/other.pem\"")).sessions.last
        #expect(own?.trust.caFile == "/etc/other.pem")
    }

    @Test(
        arguments: [
            (
                "role_arn = \"arn:aws:iam::111122223333:role/x\"",
                "session.reader.role_arn: cannot be combined with"
            ),
            ("region = \"eu-west-1\"", "session.reader.region: cannot be combined with"),
            ("duration = \"1h\"", "session.reader.duration: cannot be combined with"),
            (
                "subject_token_type = \"access_token\"",
                "session.reader.subject_token_type: cannot be combined"
            ),
            ("client_id = \"c\"", "session.reader.client_id: unknown key"),
        ] as [(String, String)]
    )
    func `what belongs to another kind of role is refused`(keys: String, words: String) {
        let told = complaints(Self.center() + Self.role(keys))
        #expect(told.count == 1 && told[0].contains(words), "\(told)")
    }

    @Test(
        arguments: [
            ("account_id = \"111122223333\"\n", "", "session.reader.account_id: required"),
            ("role_name = \"ReadOnly\"\n", "", "session.reader.role_name: required"),
            (
                "\"111122223333\"", "\"1111-2222-3333\"",
                "session.reader.account_id: must be the twelve digits"
            ),
            ("\"111122223333\"", "111122223333", "session.reader.account_id: must be a string"),
            ("\"ReadOnly\"", "\"Read Only\"", "session.reader.role_name: must be 1 to 64"),
            ("from = \"sso\"", "", "session.reader.from: required"),
        ] as [(String, String, String)]
    )
    func `an account, a name and a source are needed`(part: String, other: String, words: String) {
        let told = complaints(Self.center() + Self.role().replacing(part, with: other))
        #expect(told.count == 1 && told[0].contains(words), "\(told)")
    }

    @Test func `each kind of role has its kind of source`() {
        let root = ConfigurationPlace.session("root")
        let assigned = complaints(root + Self.role(from: "root"))
        #expect(
            assigned.count == 1 && assigned[0].contains("session \"root\" is not of kind \"aws_sso\""),
            "\(assigned)"
        )
        let assumed = complaints(
            Self.center()
                + """
                [session.deploy]
                kind = "aws_role"
                role_arn = "arn:aws:iam::123456789012:role/deploy"
                region = "eu-west-1"
                from = "sso"
                """
        )
        #expect(assumed.count == 1 && assumed[0].contains("(set: account_id and role_name)"), "\(assumed)")
        let chained = complaints(Self.center() + Self.role() + Self.role(from: "reader", name: "second"))
        #expect(chained.count == 1 && chained[0].contains("has role credentials and no token"), "\(chained)")
    }

    @Test func `another place or role is another origin`() throws {
        func fingerprints(_ text: String) throws -> Set<String> {
            let sessions = try read(text).sessions
            return Set(sessions.map { DerivationGraph(sessions).fingerprint(of: $0) })
        }
        let first = try fingerprints(Self.center() + Self.role())
        for other in [
            Self.center("region = \"eu-west-2\"") + Self.role(),
            Self.center("region = \"eu-west-1\"\nsso_endpoint = \"https://portal.example\"") + Self.role(),
            Self.center().replacing("example.awsapps", with: "other.awsapps") + Self.role(),
        ] {
            #expect(try fingerprints(other).isDisjoint(with: first))
        }
        let admin = try fingerprints(Self.center() + Self.role().replacing("ReadOnly", with: "Admin"))
        #expect(admin.intersection(first).count == 1)
    }
}
