// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// Remedies for errors that `tokenctl config check` finds.
    @Suite struct ConfigurationRemedyTests {
        /// A configuration with an error, and the change that its remedy asks for.
        struct Row: CustomTestStringConvertible, Sendable {
            /// A part of the remedy.
            let remedy: String
            let text: String
            let wrong: String
            let right: String
            var testDescription: String { remedy }
        }

        private static let work = """
            [session.work]
            kind = "oidc"
            issuer = "https://id.example"
            client_id = "cli"

            """

        private static let role = """
            [session.role]
            kind = "aws_role"
            from = "work"
            role_arn = "arn:aws:iam::123456789012:role/deploy"
            region = "eu-west-1"

            """

        private static let proxy = """
            [[proxy]]
            name = "api"
            listen = "127.0.0.1:8080"
            upstream = "https://api.example.com"
            session = "work"

            """

        private static let rows = [
            Row(
                remedy: "account_id and role_name",
                text: role.replacing("\"work\"", with: "\"sso\"") + """
                    [session.sso]
                    kind = "aws_sso"
                    start_url = "https://example.awsapps.com/start"
                    region = "eu-west-1"

                    """,
                wrong: "role_arn = \"arn:aws:iam::123456789012:role/deploy\"\nregion = \"eu-west-1\"",
                right: "account_id = \"123456789012\"\nrole_name = \"deploy\""
            ),
            Row(
                remedy: "allow in [session.work] to include { proxy = \"api\" }",
                text: work + "allow = [{ exe = \"/usr/bin/git\" }]\n" + proxy,
                wrong: "\"/usr/bin/git\" }]",
                right: "\"/usr/bin/git\" }, { proxy = \"api\" }]"
            ),
            Row(
                remedy: "client_id to this URL",
                text: """
                    [session.work]
                    kind = "oidc"
                    issuer = "https://id.example"
                    flow = "jwt_bearer"
                    assertion_file = "/a"
                    client_metadata_url = "https://me.example/c"

                    """,
                wrong: "client_metadata_url",
                right: "client_id"
            ),
            Row(
                remedy: "a listen address and port",
                text: work + proxy.replacing("127.0.0.1:8080", with: "/run/x") + "users = [\"0\"]\n",
                wrong: "\"/run/x\"",
                right: "\"127.0.0.1:8080\""
            ),
            Row(
                remedy: "proxy_credentials_file",
                text: work + "proxy = \"http://user:password@proxy.example:3128\"\n",
                wrong: "http://user:password@proxy.example:3128\"",
                right: "http://proxy.example:3128\"\nproxy_credentials_file = \"/credentials\""
            ),
            Row(
                remedy: "resources to request tokens for resources",
                text: """
                    [session.work]
                    kind = "oauth2"
                    token_endpoint = "https://id.example/token"
                    authorization_endpoint = "https://id.example/authorize"
                    client_id = "cli"
                    resource = "https://api.example"

                    """,
                wrong: "resource = \"https://api.example\"",
                right: "resources = [\"https://api.example\"]"
            ),
        ]

        @Test(arguments: rows)
        func `what config check finds is corrected as it is said`(_ row: Row) async throws {
            let agent = try AgentUnderTest(configuration: row.text)
            let found = try await agent.tokenctl("config", "check")
            #expect(found.status != 0 && PrintedRemedy(found, holding: row.remedy) != nil, "\(found)")
            try #require(row.text.contains(row.wrong))
            try agent.configure(row.text.replacing(row.wrong, with: row.right))
            let after = try await agent.tokenctl("config", "check")
            #expect(after.status == 0, "\(after)")
        }

        @Test func `the key of a fleet is created as config check says`() async throws {
            let table = "[fleet]\nname = \"team\"\nendpoints = [\"http://127.0.0.1:1\"]\n"
            let agent = try AgentUnderTest(configuration: table)
            let found = try await agent.tokenctl("config", "check")
            let words = "tokenctl fleet init --name NAME --key-file FILE"
            let command = try #require(PrintedRemedy(found, holding: words)?.command, "\(found)")
            let line = command.replacing("NAME", with: "team").replacing("FILE", with: "\"$HOME/fleet.key\"")
            #expect(try await agent.shell(line).status == 0)
            try agent.configure(table + "fleet_key_file = \"~/fleet.key\"\n")
            let after = try await agent.tokenctl("config", "check")
            #expect(after.status == 0, "\(after)")
        }

        @Test func `role credentials are got as config check says, in place of a file`() async throws {
            let table = "[[file]]\npath = \"/run/role\"\nsession = \"role\"\n"
            let agent = try AgentUnderTest(configuration: Self.work + Self.role + table)
            let found = try await agent.tokenctl("config", "check")
            let remedy = try #require(PrintedRemedy(found, holding: "tokenctl aws --help"), "\(found)")
            let help = try await agent.shell(remedy.text)
            #expect(help.status == 0 && help.standardOutput.contains("credential_process"), "\(help)")
            try agent.configure(Self.work + Self.role)
            #expect(try await agent.tokenctl("config", "check").status == 0)
        }
    }
}
