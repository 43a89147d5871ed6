// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// The addresses at which the libraries of clouds look for credentials.
    @Suite struct EndpointTests {
        private static func table(_ kind: String, _ session: String, _ more: String = "") -> String {
            """
            [[endpoint]]
            name = "cloud"
            kind = "\(kind)"
            listen = "127.0.0.1:0"
            session = "\(session)"
            \(more)

            """
        }

        private static func run(_ agent: AgentUnderTest, _ script: String) async throws -> ProgramResult {
            try await agent.tokenctl(["exec", "--endpoint", "cloud", "--", "sh", "-c", script])
        }

        @Test(.holds("233"))
        func `a program in a container gets the credentials of a role, with the secret of a file`()
            async throws
        {
            let scene = try await Scene()
            scene.issuer.add(STSDouble.route)
            let role = """

                [session.role]
                kind = "aws_role"
                role_arn = "\(STSDouble.roleARN)"
                sts_endpoint = "\(scene.issuer.issuer)\(STSDouble.path)"
                from = "work"

                """
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text + role + Self.table("aws-container", "role"))
            try await scene.agent.start()
            try await scene.logIn()
            let script = """
                stat -c %a "$AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
                curl -s -H "Authorization: $(cat "$AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")" "$AWS_CONTAINER_CREDENTIALS_FULL_URI"
                echo
                curl -s -o /dev/null -w '%{http_code} ' "$AWS_CONTAINER_CREDENTIALS_FULL_URI"
                curl -s -o /dev/null -w '%{http_code} ' -H 'Authorization: x' "$AWS_CONTAINER_CREDENTIALS_FULL_URI"
                curl -s -o /dev/null -w '%{http_code} ' -H 'X-Forwarded-For: x' "$AWS_CONTAINER_CREDENTIALS_FULL_URI"
                echo "$AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
                """
            let result = try await Self.run(scene.agent, script)
            let lines = result.standardOutput.split(separator: "\n").map(String.init)
            try #require(lines.count == 3, "\(result)")
            #expect(lines[0] == "600")
            let credentials = try #require(try JSONValue(parsing: lines[1].utf8).object, "\(result)")
            #expect(
                credentials.members.map(\.name) == ["AccessKeyId", "SecretAccessKey", "Token", "Expiration"]
            )
            #expect(lines[2].hasPrefix("401 401 403 "))
            // The secret goes with the program.
            #expect(!File.exists(String(lines[2].dropFirst(12))))
        }

        @Test func `tables are those of the running agent`() async throws {
            let upstream = """
                [[proxy]]
                name = "api"
                listen = "127.0.0.1:0"
                upstream = "http://127.0.0.1:1"
                session = "work"

                """
            let scene = try await Scene.loggedIn(
                session: "audience = \"https://vault.example\"",
                more: Self.table("azure-msi", "work", "no_secret = true") + upstream
            )
            let other = ["XDG_CONFIG_HOME": "/nonexistent"]
            for arguments in [["exec", "--endpoint", "cloud"], ["proxy", "api"]] {
                let result = try await scene.agent.tokenctl(
                    arguments + ["--", "echo", "served"],
                    extraEnvironment: other
                )
                #expect(result.standardOutput == "served\n", "\(result)")
            }
        }

        @Test(.holds("233")) func `a managed identity gets tokens for the session's audience and no other`()
            async throws
        {
            let scene = try await Scene.loggedIn(
                session: "audience = \"https://vault.example\"",
                more: Self.table("azure-msi", "work", "no_secret = true")
            )
            let token = try await scene.token()
            let script = """
                get() { curl -s -w ' %{http_code}\\n' "$@"; }
                q='api-version=2019-08-01&resource=https://vault.example'
                get -H "X-IDENTITY-HEADER: $IDENTITY_HEADER" "$IDENTITY_ENDPOINT?$q"
                get -H "X-IDENTITY-HEADER: x" "$IDENTITY_ENDPOINT?$q"
                get -H "X-IDENTITY-HEADER: $IDENTITY_HEADER" "$IDENTITY_ENDPOINT?api-version=2019-08-01&resource=https://other"
                get -H "X-IDENTITY-HEADER: $IDENTITY_HEADER" "$IDENTITY_ENDPOINT?api-version=2017-09-01&resource=https://vault.example"
                m="$AZURE_POD_IDENTITY_AUTHORITY_HOST/metadata/identity/oauth2/token?api-version=2018-02-01"
                get -H 'Metadata: true' "$m&resource=https://vault.example"
                get "$m&resource=https://vault.example"
                """
            let result = try await Self.run(scene.agent, script)
            let lines = result.standardOutput.split(separator: "\n").map(String.init)
            #expect(
                lines.map { String($0.suffix(3)) } == ["200", "401", "400", "400", "200", "400"],
                "\(result)"
            )
            let refusal = try #require(try JSONValue(parsing: lines[1].dropLast(4).utf8).object)
            #expect(refusal["statusCode"]?.integer == 401)
            #expect(refusal["message"]?.string == refusal["error_description"]?.string)
            let first = try #require(try JSONValue(parsing: lines[0].dropLast(4).utf8).object)
            #expect(
                first["access_token"]?.string == token
                    && first["expires_on"]?.string.flatMap { Int64($0) } != nil
            )
        }

        @Test(.holds("233"))
        func `a machine of Google's gets tokens with the header that its libraries send`() async throws {
            let keys = "no_secret = true\naudiences = [\"svc\"]"
            let scene = try await Scene.loggedIn(more: Self.table("gce-metadata", "work", keys))
            let token = try await scene.token()
            let script = """
                get() { curl -s -w ' %{http_code}\\n' "$@"; }
                a="http://$GCE_METADATA_HOST/computeMetadata/v1/instance/service-accounts/default"
                curl -s -o /dev/null -D - "http://$GCE_METADATA_IP/" | tr -d '\\r' | grep Metadata-Flavor
                get -H 'Metadata-Flavor: Google' "$a/token"
                get -H 'Metadata-Flavor: Google' "$a/token?scopes=api,openid"
                get -H 'Metadata-Flavor: Google' "$a/token?scopes=admin"
                get -H 'Metadata-Flavor: Google' "$a/token?scopes=api&scopes=admin"
                for path in /token/x /token/ //token /x /email/x; do
                    curl -s -o /dev/null -w ' %{http_code}' -H 'Metadata-Flavor: Google' "$a$path"
                done
                echo
                get "$a/token"
                get -H 'Metadata-Flavor: Google' "$a/?recursive=true"
                get -H 'Metadata-Flavor: Google' "$a/identity?audience=https://other"
                get -H 'Metadata-Flavor: Google' "$a/identity?audience=svc"
                get -H 'Metadata-Flavor: Google' "$a/identity?audience=demo-public"
                """
            let result = try await Self.run(scene.agent, script)
            let lines = result.standardOutput.split(separator: "\n").map(String.init)
            #expect(lines.first == "Metadata-Flavor: Google", "\(result)")
            #expect(lines.contains(" 404 404 404 404 404"), "\(result)")
            let answers = lines.dropFirst().filter { $0.hasSuffix("00") || $0.hasSuffix("03") }
            #expect(
                answers.map { String($0.suffix(3)) } == [
                    "200", "200", "400", "400", "403", "200", "400", "400", "200",
                ],
                "\(result)"
            )
            #expect(lines[1].contains("\"access_token\":\"\(token)\""))
            #expect(
                lines.contains { $0.contains("\"scopes\":[\"openid\",\"offline_access\",\"api\"]") },
                "\(result)"
            )
        }

        @Test(.holds("233")) func `a machine of Google's names its project, also to gcloud`() async throws {
            let keys = "no_secret = true\nproject = \"my-project-1\""
            let scene = try await Scene.loggedIn(more: Self.table("gce-metadata", "work", keys))
            let script = """
                top="http://$GCE_METADATA_ROOT/computeMetadata/v1"
                for path in /project/project-id '/project/project-id?alt=json' /project/ '' /project/name; do
                    curl -s -H 'Metadata-Flavor: Google' "$top$path" | tr '\n' ' ' && echo
                done
                curl -s -H 'Metadata-Flavor: Google' "$top/?recursive=true"
                """
            let result = try await Self.run(scene.agent, script)
            let lines = result.standardOutput.split(separator: "\n").map(String.init)
            #expect(
                lines.prefix(5) == [
                    "my-project-1", "\"my-project-1\"", "project-id ", "instance/ project/ ", "Not Found ",
                ],
                "\(result)"
            )
            #expect(lines.last?.contains(#""project":{"projectId":"my-project-1"}"#) == true, "\(result)")
        }

        @Test func `a machine of Google's lists its directories, with and without their slashes`()
            async throws
        {
            let scene = try await Scene.loggedIn(more: Self.table("gce-metadata", "work", "no_secret = true"))
            let script = """
                top="http://$GCE_METADATA_HOST/computeMetadata/v1"
                for path in '' /instance /instance/service-accounts /instance/service-accounts/ \
                    '/instance/service-accounts/default/scopes?alt=json' '/instance/?recursive=true&alt=json'; do
                    curl -s -H 'Metadata-Flavor: Google' "$top$path" | tr '\n' ' ' && echo
                done
                """
            let result = try await Self.run(scene.agent, script)
            let lines = result.standardOutput.split(separator: "\n").map(String.init)
            let directories = [
                "instance/ ", "service-accounts/ ", "alice/ default/ ",
                "alice/ default/ ",
                #"["openid","offline_access","api"]"#,
            ]
            #expect(lines.contains(directories), "\(result)")
            #expect(
                lines.contains { $0.hasPrefix(#"{"serviceAccounts":{"#) && $0.contains(#""default":{"#) },
                "\(result)"
            )
        }
    }
}
