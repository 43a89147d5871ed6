// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Sessions of installations of a GitHub App, against a double: there is no GitHub that can be run here.
    @Suite struct GitHubAppTests {
        /// Holds the key of the app.
        private let files: TemporaryDirectory

        init() throws {
            files = try TemporaryDirectory()
        }

        /// An agent whose session `phone` is the app's installation at the organization.
        private func scene(
            _ double: GitHubDouble,
            installation: String = "\"\(GitHubDouble.account)\"",
            more: String = ""
        ) async throws -> KindScene {
            let key = try files.write(double.key.privateKeyPEM, to: "app.pem", mode: 0o600)
            return try await KindScene(double.routes) { address in
                """
                kind = "github_app"
                app_id = \(GitHubDouble.appID)
                key_file = "\(key)"
                installation = \(installation)
                api_url = "\(address)"
                \(more)
                """
            }
        }

        @Test(.holds("192"))
        func `an app has a token without a login, one for everybody, also after a restart`()
            async throws
        {
            let double = try GitHubDouble()
            let scene = try await scene(double, more: "repositories = [\"web\"]")
            let socket = scene.agent.socket
            let answers = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<50 {
                    group.addTask { try await socket.request("GET", "/v1/sessions/phone/token").text }
                }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(answers.allSatisfy { $0.contains("ghs_1") }, "\(answers) \(scene.agent.log)")
            #expect(double.made == 1)
            let token = try await scene.get().line
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(try await scene.get().line == token)
            #expect(try await scene.curl("/installation/repositories").standardOutput.contains("api"))
            #expect(double.made == 1)
        }

        @Test(.holds("192")) func `a logout gives the token back, and the next request has a new one`()
            async throws
        {
            let double = try GitHubDouble()
            let scene = try await scene(double, installation: "\(GitHubDouble.installation)")
            let token = try await scene.get().line
            #expect(double.isAlive(token))
            #expect(try await scene.agent.tokenctl("logout", "phone").status == 0)
            #expect(!double.isAlive(token))
            let next = try await scene.get()
            #expect(next.line != token && double.isAlive(next.line), "\(next) \(scene.agent.log)")
        }

        @Test func `a login is refused with what to do instead`() async throws {
            let scene = try await scene(try GitHubDouble())
            let login = try await scene.agent.tokenctl("login", "phone")
            #expect(login.status == 2 && login.complainsInOneLine, "\(login)")
            #expect(login.standardError.contains("tokenctl refresh phone"), "\(login)")
        }

        @Test(.holds("192")) func `a suspended installation comes back by itself`() async throws {
            let double = try GitHubDouble()
            double.isSuspended = true
            let scene = try await scene(double)
            let refused = try await scene.get()
            #expect(refused.status == 5 && refused.complainsInOneLine, "\(refused)")
            #expect(refused.standardError.contains("suspended"), "\(refused)")
            double.isSuspended = false
            let refreshed = try await scene.agent.tokenctl("refresh", "phone")
            #expect(refreshed.status == 0, "\(refreshed) \(scene.agent.log)")
            #expect(try await scene.get().line.hasPrefix("ghs_"))
        }

        @Test func `what the installation does not have is a matter of the configuration`() async throws {
            let scene = try await scene(try GitHubDouble(), more: "permissions = { secrets = \"read\" }")
            let result = try await scene.get()
            #expect(result.status == 2 && result.complainsInOneLine, "\(result)")
            #expect(result.standardError.contains("repositories and permissions"), "\(result)")
        }
    }
}
