// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

private let isMissing: Comment =
    "the scripts that run glewlwyd are not here; set TOKENAGENT_IDP_DIR to their directory"

extension EndToEnd {
    /// Clients without a secret on the wire, at a server this project did not write.
    ///
    /// It takes only an assertion whose `aud` is the very address it is posted to, spends a refresh token that comes
    /// without a good proof, and takes certificates only at the aliases of its endpoints.
    @Suite(.full, .enabled(if: GlewlwydAuth.isAvailable, isMissing), .glewlwydAuth, .serialized)
    struct GlewlwydAuthTests {
        static let clients = [
            "jwt_rs256", "jwt_es256", "jwt_eddsa", "jwt_pem", "secret_jwt", "mtls", "mtls_san",
        ]

        @Test(.holds("O57"), arguments: clients)
        func `a login proves the client, pushed or not, and lives on through refreshes`(
            client: String
        ) async throws {
            for realm in ["strong", "par"] {
                let scene = try await GlewlwydAuthScene(client, realm: realm)
                try await scene.logIn()
                var seen = [try await scene.get()]
                for _ in 0..<2 {
                    let refreshed = try await scene.refresh()
                    #expect(refreshed.status == 0, "\(realm): \(refreshed.standardError) \(scene.agent.log)")
                    seen.append(try await scene.get())
                }
                #expect(Set(seen).count == 3)
                let logout = try await scene.agent.tokenctl("logout", "work")
                #expect(logout.status == 0 && logout.standardError.isEmpty, "\(realm): \(logout)")
            }
        }

        @Test(arguments: ["jwt_es256", "mtls"])
        func `client credentials renew themselves by the same proof`(client: String) async throws {
            let scene = try await GlewlwydAuthScene(client, flow: "client_credentials")
            try await scene.logIn()
            let first = try await scene.get()
            let refreshed = try await scene.refresh()
            #expect(refreshed.status == 0, "\(refreshed.standardError) \(scene.agent.log)")
            #expect(try await scene.get() != first)
        }

        @Test func `a key that is a JWK says its own name`() async throws {
            let server = try GlewlwydAuth.current()
            let pem = try #require(File.text(server.client("jwt_es256")["key"]?.string ?? ""))
            let key = try ProvingKey(pem: pem)
            var webKey = key.webKey
            webKey["d"] = key.secret
            webKey["kid"] = "jwt_es256"
            let files = try TemporaryDirectory()
            let path = try files.write(JSONValue.object(webKey).text, to: "key.json", mode: 0o600)
            let scene = try await GlewlwydAuthScene(
                "jwt_es256",
                flow: "client_credentials",
                proof: "client_key_file = \"\(path)\""
            )
            try await scene.logIn()
            let refreshed = try await scene.refresh()
            #expect(refreshed.status == 0, "\(refreshed.standardError) \(scene.agent.log)")
        }

        @Test(.holds("O57")) func `assertions that another program signs are read again each time`()
            async throws
        {
            let server = try GlewlwydAuth.current()
            let client = server.client("jwt_pem")
            let files = try TemporaryDirectory()
            let signer = try files.write(Self.signer, to: "sign")
            let words = [
                "sh", signer, client["key"]?.string ?? "", client["client_id"]?.string ?? "",
                "\(server.issuer("strong"))/token",
            ]
            let list = words.map { "\"\($0)\"" }.joined(separator: ", ")
            let path = files.path("assertion")
            for proof in ["client_assertion_command = [\(list)]", "client_assertion_file = \"\(path)\""] {
                func sign() async throws {
                    let signed = try await Program.run(
                        words,
                        environment: ["PATH": TestEnvironment.searchPath]
                    )
                    try #require(signed.status == 0, "\(signed)")
                    try files.write(signed.standardOutput, to: "assertion")
                }
                try await sign()
                let scene = try await GlewlwydAuthScene("jwt_pem", flow: "client_credentials", proof: proof)
                #expect(try await scene.agent.reaches("ready", "work"), "\(scene.agent.log)")
                // This server takes none twice.
                try await sign()
                let refreshed = try await scene.refresh()
                #expect(refreshed.status == 0, "\(refreshed.standardError) \(scene.agent.log)")
            }
        }

        /// Signs an assertion with the key, for the client and the audience that are its arguments.
        private static let signer = #"""
            coded() { base64 -w0 | tr '+/' '-_' | tr -d '='; }
            now=$(date +%s)
            name=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
            header=$(printf '{"alg":"RS256","typ":"JWT"}' | coded)
            claims=$(printf '{"iss":"%s","sub":"%s","aud":"%s","jti":"%s","iat":%s,"exp":%s}' \
                "$2" "$2" "$3" "$name" "$now" "$((now + 60))" | coded)
            printf '%s.%s.%s' "$header" "$claims" \
                "$(printf '%s.%s' "$header" "$claims" | openssl dgst -sha256 -sign "$1" | coded)"

            """#

        @Test func `a refresh that cannot be proven is not sent, so the login survives`() async throws {
            let server = try GlewlwydAuth.current()
            let text = try #require(File.text(server.client("jwt_es256")["key"]?.string ?? ""))
            let files = try TemporaryDirectory()
            let path = try files.write(text, to: "key.pem")
            let scene = try await GlewlwydAuthScene(
                "jwt_es256",
                proof: "client_key_file = \"\(path)\"\nclient_key_id = \"jwt_es256\""
            )
            try await scene.logIn()
            File.remove(path)
            let refused = try await scene.refresh()
            #expect(
                refused.status == 5 && refused.standardError.contains("client_key_file \(path)"),
                "\(refused)"
            )
            try files.write(text, to: "key.pem", mode: 0o644)
            let open = try await scene.refresh()
            #expect(open.status == 5 && open.standardError.contains("chmod 600 \(path)"), "\(open)")
            try files.write(text, to: "key.pem", mode: 0o600)
            let repaired = try await scene.refresh()
            #expect(repaired.status == 0, "\(repaired.standardError) \(scene.agent.log)")
        }

        @Test func `an assertion for the issuer alone is refused here`() async throws {
            let scene = try await GlewlwydAuthScene(
                "jwt_es256",
                flow: "client_credentials",
                more: "client_assertion_audience = \"issuer\""
            )
            #expect(try await scene.agent.tokenctl("login", "work").status != 0)
        }

        @Test func `the key of another client is refused`() async throws {
            let server = try GlewlwydAuth.current()
            let other = server.client("jwt_rs256")["key"]?.string ?? ""
            let scene = try await GlewlwydAuthScene(
                "jwt_pem",
                flow: "client_credentials",
                proof: "client_key_file = \"\(other)\""
            )
            #expect(try await scene.agent.tokenctl("login", "work").status != 0)
        }
    }
}
