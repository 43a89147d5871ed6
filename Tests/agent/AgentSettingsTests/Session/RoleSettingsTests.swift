// SPDX-License-Identifier: MIT

import OAuthClient
import ServerSettings
import Testing
import TokenCore

@testable import AgentSettings

/// Sessions with the credentials of a role of Amazon Web Services.
struct RoleSettingsTests {
    private static let root = ConfigurationPlace.session("root")

    private static func role(_ keys: String, from: String = "from = \"root\"") -> String {
        """
        [session.deploy]
        kind = "aws_role"
        role_arn = "arn:aws:iam::123456789012:role/deploy"
        \(from)
        \(keys)

        """
    }

    @Test func `a role needs a name, a source and a region`() throws {
        let sessions = try read(Self.root + Self.role("region = \"eu-west-1\"")).sessions
        let session = try #require(sessions.last)
        let role = AWSRole(
            arn: "arn:aws:iam::123456789012:role/deploy",
            endpoint: "https://sts.eu-west-1.amazonaws.com/",
            duration: .seconds(3_600),
            sessionName: "tokenagent"
        )
        #expect(session.server == .awsRole(role))
        #expect(session.sources.subject?.description == "root" && session.sources.usesIDToken)
        #expect(session.hasNoLogin && session.hasRoleCredentials)
        #expect(session.policy.startsByItself && !session.policy.tokensOutliveLogin)
        #expect(session.policy.minimumValidity == .seconds(900))
        #expect(session.policy.refreshBefore == .seconds(1_200))
        #expect(DerivationGraph(sessions).loginSubstitute(for: session) == .run("tokenctl login root"))
    }

    @Test func `everything else can be said`() throws {
        let keys = """
            sts_endpoint = "http://127.0.0.1:9/"
            subject_token_type = "access_token"
            duration = "15m"
            role_session_name = "laptop"
            min_validity = "20m"
            ca_file = "/etc/ca.pem"
            derived = "open"
            """
        let session = try #require(try read(Self.root + Self.role(keys)).sessions.last)
        let role = AWSRole(
            arn: "arn:aws:iam::123456789012:role/deploy",
            endpoint: "http://127.0.0.1:9/",
            duration: .seconds(900),
            sessionName: "laptop"
        )
        #expect(session.server == .awsRole(role))
        #expect(!session.sources.usesIDToken && session.sources.isOpen)
        #expect(session.policy.minimumValidity == .seconds(1_200))
        #expect(session.trust.caFile == "/etc/ca.pem")
    }

    @Test(
        arguments: [
            ("", "session.deploy.region: required"), ("region = \"eu west\"", "is not an AWS region"),
            ("region = \"r\"\nduration = \"10m\"", "must be 15m to 12h"),
            ("region = \"r\"\nduration = \"13h\"", "must be 15m to 12h"),
            ("region = \"r\"\nsubject_token_type = \"jwt\"", "is not one of id_token, access_token"),
            ("region = \"r\"\nrole_session_name = \"a b\"", "must be 2 to 64 letters"),
            ("region = \"r\"\nclient_id = \"c\"", "session.deploy.client_id: unknown key"),
            ("region = \"r\"\nclient_secret = \"c\"", "session.deploy.client_secret: unknown key"),
            ("region = \"r\"\nactor_from = \"root\"", "session.deploy.actor_from: unknown key"),
            ("region = \"r\"\nflow = \"browser\"", "session.deploy.flow: unknown key"),
            ("region = \"r\"\nreauth = [\"prompt\"]", "the session has no login"),
            ("sts_endpoint = \"http://sts.example/\"", "session.deploy.sts_endpoint"),
        ] as [(String, String)]
    )
    func `mistakes are told with their key`(keys: String, words: String) {
        let told = complaints(Self.root + Self.role(keys))
        #expect(told.count == 1 && told[0].contains(words), "\(told)")
    }

    @Test func `a role without a source, or of a source without a token, is a mistake`() {
        let region = "region = \"r\""
        let alone = complaints(Self.role(region, from: ""))
        #expect(alone.count == 1 && alone[0].contains("session.deploy.from: required"), "\(alone)")
        let unknown = complaints(Self.role(region))
        #expect(unknown.count == 1 && unknown[0].contains("no session named \"root\""), "\(unknown)")
        let second = Self.role(region, from: "from = \"deploy\"").replacing(
            "[session.deploy]",
            with: "[session.x]"
        )
        let chained = complaints(Self.root + Self.role(region) + second)
        #expect(
            chained.count == 1 && chained[0].contains("has role credentials and no token"),
            "\(chained)"
        )
    }

    @Test func `another role or name is another origin`() throws {
        func fingerprint(_ text: String) throws -> String? {
            try read(Self.root + text).sessions.last?.fingerprint
        }
        let role = Self.role("region = \"r\"")
        let others = [
            role.replacing("role/deploy", with: "role/other"), role + "role_session_name = \"laptop\"\n",
            role.replacing("region = \"r\"", with: "region = \"s\""),
            role + "subject_token_type = \"access_token\"\n",
        ]
        #expect(Set(try ([role] + others).map(fingerprint)).count == 5)
    }
}
