// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Sessions of Google service accounts, against a double: there is no Google that can be run here.
    @Suite struct ServiceAccountTests {
        /// Holds the key file.
        private let files: TemporaryDirectory
        private let double: GoogleDouble

        init() throws {
            files = try TemporaryDirectory()
            double = try GoogleDouble()
        }

        /// An agent whose session `phone` is the account's, at the double.
        private func scene(
            tokenURI: String = "https://oauth2.googleapis.com/token",
            writesEndpoint: Bool = true,
            more: String = ""
        ) async throws -> KindScene {
            let path = try files.write(double.keyFile(tokenURI: tokenURI), to: "account.json", mode: 0o600)
            return try await KindScene([double.route]) { address in
                """
                flow = "jwt_bearer"
                service_account_file = "\(path)"
                scopes = ["\(GoogleDouble.scopes[0])", "\(GoogleDouble.scopes[1])"]
                \(writesEndpoint ? "token_endpoint = \"\(address)/token\"" : "")
                \(more)
                """
            }
        }

        /// The claims of the assertion that was sent last, unverified.
        private func sent(_ scene: KindScene) throws -> JSONObject {
            let form = try #require(scene.issuer.requests(to: "/token").last?.form)
            // Google reads the scope in the assertion alone.
            #expect(form.fields.map(\.name).sorted() == ["assertion", "grant_type"])
            let parts = (form["assertion"] ?? "").split(separator: ".")
            try #require(parts.count == 3, "\(parts)")
            let claims = try #require(Base64.urlDecoded(parts[1].utf8))
            return try #require(try JSONValue(parsing: claims).object)
        }

        @Test func `a key file is all that an account needs, one token for everybody, also after a restart`()
            async throws
        {
            let scene = try await scene()
            let socket = scene.agent.socket
            let answers = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<50 {
                    group.addTask { try await socket.request("GET", "/v1/sessions/phone/token").text }
                }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(answers.allSatisfy { $0.contains("ya29.1") }, "\(answers) \(scene.agent.log)")
            #expect(double.made == 1)
            let claims = try sent(scene)
            #expect(claims["iss"]?.string == GoogleDouble.account && claims["sub"] == nil)
            #expect(claims["scope"]?.string == GoogleDouble.scopes.joined(separator: " "))
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(try await scene.get().line.hasPrefix("ya29.1"))
            #expect(double.made == 1)
        }

        @Test func `a token may be for less, and for a person`() async throws {
            let scene = try await scene(more: "assertion_claims = { sub = \"\(GoogleDouble.person)\" }")
            _ = try await scene.get()
            #expect(try sent(scene)["sub"]?.string == GoogleDouble.person)
            let narrow = try await scene.get("--scope", GoogleDouble.scopes[1])
            #expect(narrow.status == 0 && narrow.line.hasPrefix("ya29.2"), "\(narrow) \(scene.agent.log)")
            #expect(try sent(scene)["scope"]?.string == GoogleDouble.scopes[1])
            let audience = try await scene.get("--audience", "https://api.example")
            #expect(audience.status == 2 && audience.complainsInOneLine, "\(audience)")
            #expect(double.made == 2)
        }

        @Test(.holds("189")) func `a planted file sends no assertion anywhere`() async throws {
            let evil = try await scene(tokenURI: "https://evil.example/token", writesEndpoint: false)
            let result = try await evil.get()
            #expect(result.status == 2 && result.complainsInOneLine, "\(result)")
            #expect(result.standardError.contains("https://evil.example/token"), "\(result)")
            #expect(result.standardError.contains("token_endpoint"), "\(result)")
            // The configured address takes precedence over the one in the file.
            let written = try await scene(tokenURI: "https://evil.example/token")
            #expect(try await written.get().line.hasPrefix("ya29.1"))
            let figure = "0 assertions to the token_uri of a file"
            Attachment.record(figure, named: "figure")
        }

        @Test func `a key that Google does not know any more needs nobody, and another one is enough`()
            async throws
        {
            let scene = try await scene()
            _ = try await scene.get()
            try double.replaceKey()
            let refused = try await scene.agent.tokenctl("refresh", "phone")
            #expect(refused.status == 5 && refused.complainsInOneLine, "\(refused)")
            #expect(refused.standardError.contains("Invalid JWT Signature"), "\(refused)")
            let login = try await scene.agent.tokenctl("login", "phone")
            #expect(login.status == 2 && login.standardError.contains("tokenctl refresh phone"), "\(login)")
            try files.write(double.keyFile(), to: "account.json", mode: 0o600)
            #expect(try await scene.agent.tokenctl("refresh", "phone").status == 0)
        }

        @Test(.enabled(if: TestUser.isRoot, "only root can read the memory of another process"))
        func `neither the key nor an assertion lies in memory`() async throws {
            let scene = try await scene()
            for _ in 0..<4 {
                #expect(try await scene.agent.tokenctl("refresh", "phone").status == 0)
            }
            let file = try JSONValue(parsing: double.keyFile().utf8).object
            let key = file?["private_key"]?.string ?? ""
            let lines = key.split(separator: "\n").filter { $0.utf8.count == 64 }
            #expect(lines.count > 20)
            let assertions = scene.issuer.requests(to: "/token").compactMap { $0.form["assertion"] }
            let memory = ProcessMemory(of: try #require(scene.agent.agent?.pid))
            let found = try memory.hits(of: lines.map(String.init) + assertions.map { String($0.suffix(80)) })
            #expect(found.isEmpty, "\(found)")
            Attachment.record("\(found.count) of \(lines.count) lines", named: "figure")
        }

        @Test func `what the account may not do is a matter of the configuration`() async throws {
            let scene = try await scene(more: "assertion_claims = { sub = \"mallory@example.com\" }")
            let result = try await scene.get()
            #expect(result.status == 2 && result.complainsInOneLine, "\(result)")
            #expect(result.standardError.contains("unauthorized"), "\(result)")
        }
    }
}
