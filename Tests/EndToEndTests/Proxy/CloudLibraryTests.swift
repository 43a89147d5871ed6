// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

private let isMissing: Comment = "the library is not installed; set TOKENAGENT_TEST_FULL=1 to fetch it"
private let amazon = PythonLibrary("boto3", packages: "boto3")
private let google = PythonLibrary(
    "google.auth.compute_engine, requests",
    packages: "google-auth",
    "requests"
)
private let azure = PythonLibrary("azure.identity", packages: "azure-identity")

extension EndToEnd {
    /// The libraries of clouds as they are, which find an endpoint by their own variables.
    @Suite(.serialized) struct CloudLibraryTests {
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

        /// Runs a Python program that finds the endpoint.
        ///
        /// `words` precede the interpreter.
        private static func run(
            _ library: PythonLibrary,
            _ program: String,
            of scene: Scene,
            _ words: [String] = []
        ) async throws -> ProgramResult {
            let python = try await library.interpreter()
            let file = try scene.agent.home.write(program, to: "cloud.py")
            return try await scene.agent.tokenctl(
                ["exec", "--endpoint", "cloud", "--"] + words + [python, file],
                within: .seconds(120)
            )
        }

        @Test(.holds("233"), .enabled(if: amazon.isAvailable, isMissing))
        func `Amazon's library finds the credentials of a role, asked for once`() async throws {
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
            let program = """
                import boto3
                found = boto3.session.Session().get_credentials()
                first = found.get_frozen_credentials()
                left = found._seconds_remaining()
                again = boto3.session.Session().get_credentials().get_frozen_credentials()
                print(found.method, first.access_key, left > 900, again.access_key)
                """
            let result = try await Self.run(amazon, program, of: scene)
            let words = result.standardOutput.split(separator: " ")
            try #require(result.status == 0 && words.count == 4, "\(result)")
            let own = try await scene.agent.tokenctl("aws", "role")
            let key = try #require(
                try JSONValue(parsing: own.standardOutput.utf8).object?["AccessKeyId"]?.string
            )
            #expect(words[0] == "container-role" && words[1] == key && words[2] == "True")
            #expect(words[3].hasPrefix(key))
            #expect(scene.issuer.requests(to: STSDouble.path).count == 1)
        }

        @Test(.holds("233"), .enabled(if: google.isAvailable, isMissing))
        func `Google's library takes the endpoint for its metadata server`() async throws {
            let scene = try await Scene.loggedIn(
                session: "audience = \"https://api.example\"",
                more: Self.table("gce-metadata", "work", "no_secret = true")
            )
            let token = try await scene.token()
            let program = """
                import google.auth
                from google.auth import compute_engine
                from google.auth.transport import requests
                request = requests.Request()
                found, project = google.auth.default()
                found.refresh(request)
                print(type(found).__module__, found.token)
                identity = compute_engine.IDTokenCredentials(
                    request, "demo-public", use_metadata_identity_endpoint=True)
                identity.refresh(request)
                print(identity.token)
                other = compute_engine.IDTokenCredentials(
                    request, "https://other.example", use_metadata_identity_endpoint=True)
                try:
                    other.refresh(request)
                    print("wrong")
                except google.auth.exceptions.RefreshError:
                    print("refused")
                """
            let result = try await Self.run(google, program, of: scene)
            let lines = result.standardOutput.split(separator: "\n").map(String.init)
            try #require(lines.count == 3, "\(result)")
            #expect(lines[0] == "google.auth.compute_engine.credentials \(token)")
            let own = try await scene.token("--id-token")
            #expect(lines[1] == own && lines[2] == "refused", "\(result)")
        }

        /// Both forms: that of App Service, and that of a machine, which has no secret.
        @Test(
            .holds("233"),
            .enabled(if: azure.isAvailable, isMissing),
            arguments: [
                [], ["env", "-u", "IDENTITY_ENDPOINT", "-u", "IDENTITY_HEADER"],
            ] as [[String]]
        )
        func `Azure's library takes the endpoint for a managed identity`(words: [String]) async throws {
            let scene = try await Scene.loggedIn(
                session: "audience = \"https://vault.example\"",
                more: Self.table("azure-msi", "work", "no_secret = true")
            )
            let token = try await scene.token()
            let program = """
                import time
                from azure.core.exceptions import ClientAuthenticationError
                from azure.identity import CredentialUnavailableError, ManagedIdentityCredential
                found = ManagedIdentityCredential().get_token("https://vault.example/.default")
                print(found.token, 0 < found.expires_on - time.time() <= 600)
                try:
                    print("wrong", ManagedIdentityCredential().get_token("https://other.example/.default"))
                except (ClientAuthenticationError, CredentialUnavailableError):
                    print("refused")
                """
            let result = try await Self.run(azure, program, of: scene, words)
            #expect(result.standardOutput == "\(token) True\nrefused\n", "\(result)")
        }
    }
}
