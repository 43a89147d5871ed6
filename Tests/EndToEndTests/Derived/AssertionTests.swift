// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Sessions that get tokens with assertions, at an issuer that checks their signature, audience and times.
    ///
    /// The issuer accepts each assertion once.
    @Suite struct AssertionTests {
        private static let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"

        /// The key that signs the assertions.
        ///
        /// The issuer knows its public key.
        private let key: SigningKey

        init() throws {
            key = try SigningKey(.es256)
        }

        /// Returns a scene with a running agent and the session `robot`, whose keys are those that `keys` returns.
        private func scene(_ keys: (Scene) throws -> String) async throws -> Scene {
            let scene = try await Scene()
            scene.issuer.registry.signers = [TrustedSigner("demo-public", keys: [try key.webKey()])]
            let configuration = try #require(File.text(scene.agent.configurationPath))
            let robot = """
                [session.robot]
                issuer = "\(scene.issuer.issuer)"
                flow = "jwt_bearer"
                scopes = ["api"]
                \(try keys(scene))

                """
            try scene.agent.configure(configuration + robot)
            try await scene.agent.start()
            return scene
        }

        /// The keys of a session that signs for itself, for `alice`.
        private func signing(_ scene: Scene, by key: SigningKey? = nil) throws -> String {
            let pem = (key ?? self.key).privateKeyPEM
            let path = try scene.agent.home.write(pem, to: "key.pem", mode: 0o600)
            return """
                client_id = "demo-public"
                assertion_key_file = "\(path)"
                assertion_claims = { sub = "alice" }
                """
        }

        /// An assertion signed by another program.
        private func ready(_ scene: Scene, _ changes: JSONObject = [:]) throws -> String {
            let now = WallClock.seconds
            var claims: JSONObject = [
                "iss": "demo-public", "sub": "alice", "aud": .string(scene.issuer.issuer),
                "iat": .integer(now), "exp": .integer(now + 300), "jti": .string(RandomText.token("jti")),
            ]
            for change in changes.members { claims[change.name] = change.value }
            return try key.sign(claims: claims)
        }

        private func refresh(_ scene: Scene) async throws -> ProgramResult {
            try await scene.agent.tokenctl("refresh", "robot")
        }

        private func token(_ scene: Scene) async throws -> String {
            let result = try await scene.agent.tokenctl("get", "robot")
            try #require(result.status == 0, "\(result) \(scene.agent.log)")
            return result.line
        }

        /// The claims of the assertions that were sent, in their order.
        private func sent(_ scene: Scene) -> [JSONObject] {
            scene.issuer.requests(to: "/token").compactMap {
                $0.form["assertion"].flatMap { key.claims(of: $0) }
            }
        }

        @Test(.holds("189"))
        func `a key is all that a session needs, and each request has its own assertion`() async throws {
            let scene = try await scene { try signing($0) }
            let first = try await token(scene)
            #expect(try await scene.isAccepted(first))
            #expect(try await refresh(scene).status == 0)
            let second = try await token(scene)
            #expect(first != second)
            let claims = sent(scene)
            #expect(claims.count == 2 && Set(claims.map { $0["jti"]?.string }).count == 2, "\(claims)")
            for claims in claims {
                #expect(claims["iss"]?.string == "demo-public" && claims["sub"]?.string == "alice")
                #expect(claims["aud"]?.string == scene.issuer.issuer + "/token")
                let issued = try #require(claims["iat"]?.integer)
                let end = try #require(claims["exp"]?.integer)
                #expect((1...60).contains(end - issued))
            }
            let status = try await scene.agent.status("robot")
            #expect(status["state"]?.string == "ready" && status["scope"] == ["api"], "\(status)")
            #expect(status["refresh_expires_at"] == nil)
            try await scene.agent.kill()
            scene.issuer.forgetRequests()
            try await scene.agent.start()
            #expect(try await token(scene) == second)
            #expect(scene.issuer.requests(to: "/token").isEmpty)
        }

        @Test(.holds("189")) func `a hundred requests are one assertion, and a lock keeps the token`()
            async throws
        {
            let scene = try await scene { try signing($0) }
            let socket = scene.agent.socket
            let tokens = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        try await socket.request("GET", "/v1/sessions/robot/token").json?["access_token"]?
                            .string
                    }
                }
                return try await group.reduce(into: Set<String>()) { $0.insert($1 ?? "none") }
            }
            #expect(tokens.count == 1 && !tokens.contains("none"), "\(scene.agent.log)")
            #expect(scene.issuer.tokenRequests(Self.grant) == 1)
            #expect(try await scene.agent.tokenctl("lock").status == 0)
            #expect(try await scene.agent.tokenctl("get", "robot").status == 6)
            #expect(try await scene.agent.tokenctl("unlock").status == 0)
            #expect(try await token(scene) == tokens.first)
            #expect(try await refresh(scene).status == 0)
            #expect(scene.issuer.tokenRequests(Self.grant) == 2)
        }

        @Test(.holds("189")) func `a kill in the middle loses nothing`() async throws {
            let scene = try await scene { try signing($0) }
            let first = try await token(scene)
            scene.issuer.queue(Disturbance(isHeld: true, grantType: Self.grant))
            let waiting = try scene.agent.startTokenctl(["refresh", "robot"])
            #expect(try await Polling.until { scene.issuer.tokenRequests(Self.grant) == 2 })
            try await scene.agent.kill()
            _ = try await waiting.finish()
            scene.issuer.release()
            try await scene.agent.start()
            #expect(try await token(scene) == first)
            #expect(try await refresh(scene).status == 0)
            #expect(try await token(scene) != first)
        }

        @Test(.holds("189")) func `an assertion that another program renews is read again, through a link`()
            async throws
        {
            let scene = try await scene { scene in
                // The layout of a projected token of Kubernetes.
                _ = try scene.agent.home.makeDirectory("first")
                try scene.agent.home.write(try ready(scene) + "\n", to: "first/token", mode: 0o640)
                let home = scene.agent.home.path("")
                try #require(
                    Program.succeeds("cd '\(home)' && ln -s first ..data && ln -s ..data/token token")
                )
                return "client_id = \"demo-public\"\nassertion_file = \"\(scene.agent.home.path("token"))\""
            }
            let first = try await token(scene)
            #expect(try await scene.isAccepted(first))
            // The issuer takes each assertion once.
            let again = try await refresh(scene)
            #expect(again.status == 5 && again.complainsInOneLine, "\(again)")
            #expect(again.standardError.contains("seen before"), "\(again)")
            #expect(try await token(scene) == first)
            _ = try scene.agent.home.makeDirectory("second")
            try scene.agent.home.write(try ready(scene) + "\n", to: "second/token", mode: 0o640)
            let home = scene.agent.home.path("")
            try #require(Program.succeeds("cd '\(home)' && ln -s second new && mv -T new ..data"))
            #expect(try await refresh(scene).status == 0)
            #expect(try await token(scene) != first)
        }

        @Test func `a program may print the assertion, and the issuer need not know a client`() async throws {
            let scene = try await scene { scene in
                try scene.agent.home.write(try ready(scene), to: "assertion")
                return "assertion_command = [\"cat\", \"\(scene.agent.home.path("assertion"))\"]"
            }
            #expect(try await scene.isAccepted(try await token(scene)))
            #expect(scene.issuer.requests(to: "/token").last?.form["client_id"] == nil)
            File.remove(scene.agent.home.path("assertion"))
            let failed = try await refresh(scene)
            #expect(failed.status == 5 && failed.complainsInOneLine, "\(failed)")
            #expect(failed.standardError.contains("assertion_command"), "\(failed)")
        }

        @Test(.holds("189")) func `what an issuer refuses needs nobody, and comes back by itself`()
            async throws
        {
            let other = try SigningKey(.es256)
            let scene = try await scene { try signing($0, by: other) }
            let refused = try await scene.agent.tokenctl("get", "robot")
            #expect(refused.status == 5 && refused.complainsInOneLine, "\(refused)")
            #expect(refused.standardError.contains("not listed"), "\(refused)")
            #expect(try await scene.agent.status("robot")["state"]?.string == "retrying")
            let login = try await scene.agent.tokenctl("login", "robot")
            #expect(login.status == 2 && login.complainsInOneLine, "\(login)")
            #expect(login.standardError.contains("tokenctl refresh robot"), "\(login)")
            scene.issuer.registry.signers = [TrustedSigner("demo-public", keys: [try other.webKey()])]
            #expect(try await scene.agent.reaches("ready", "robot"), "\(scene.agent.log)")
        }

        /// Shell commands that damage the key file in the home directory, with parts of the message and of the remedy.
        @Test(arguments: [
            ("rm key.pem", "No such file or directory", ""),
            ("rm key.pem && mkdir key.pem", "is a directory", ""),
            ("chmod 644 key.pem", "is readable by other users", "chmod 600"),
            (
                "openssl genpkey -algorithm ec -pkeyopt ec_paramgen_curve:P-384 >key.pem", "P-256",
                "to an RSA"
            ),
            (
                "openssl genpkey -algorithm ed25519 -aes128 -pass pass:x >key.pem", "encrypted",
                "assertion_key_command to a command"
            ),
            ("openssl pkey -in key.pem -pubout >new && cat new >key.pem", "public key", ""),
        ])
        func `a key of assertions that cannot be used is named, and nothing is sent`(
            change: String,
            words: String,
            remedy: String
        ) async throws {
            let scene = try await scene { scene in
                let keys = try signing(scene)
                let home = scene.agent.home.path("")
                try #require(Program.succeeds("cd '\(home)' && { \(change); } 2>/dev/null"))
                return keys
            }
            let result = try await scene.agent.tokenctl("get", "robot")
            // The agent retries by itself if another program may just be writing the file.
            #expect(result.status == (words == "encrypted" ? 2 : 5), "\(result)")
            #expect(result.complainsInOneLine, "\(result)")
            #expect(result.standardError.contains("assertion_key_file"), "\(result)")
            #expect(result.standardError.contains(words), "\(result)")
            #expect(result.standardError.contains(remedy), "\(result)")
            #expect(scene.issuer.requests(to: "/token").isEmpty)
            File.removeTree(scene.agent.home.path("key.pem"))
            _ = try signing(scene)
            #expect(try await refresh(scene).status == 0)
        }

        @Test(.holds("189")) func `an issuer that repeats an assertion shows it to nobody`() async throws {
            let scene = try await scene { try signing($0) }
            _ = try await token(scene)
            scene.issuer.add(
                Route("POST", "/token") { request in
                    .failure("invalid_grant", description: request.form["assertion"] ?? "")
                }
            )
            let result = try await refresh(scene)
            let assertion = try #require(scene.issuer.requests(to: "/token").last?.form["assertion"])
            #expect(result.status == 5 && result.standardError.contains("[redacted]"), "\(result)")
            let status = try await scene.agent.tokenctl("status", "robot", "--json")
            for text in [result.standardError, status.standardOutput, scene.agent.log] {
                #expect(!text.contains(assertion.suffix(40)))
            }
        }
    }
}
