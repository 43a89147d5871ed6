// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Remedies for a server that refuses the client, or a session that does not fit its server.
    @Suite(.full) struct ServerRemedyTests {
        private static let loginByPassword =
            ["login", "work"] + Scene.password.more.split(separator: " ").map(String.init)

        /// A login by password, and the change of the configuration, with another login, that is said.
        private static func login(
            _ name: String,
            _ remedy: String,
            issuer: @escaping @Sendable (inout IssuerSettings) -> Void = { _ in },
            configuration: @escaping @Sendable (Scene) -> String? = { _ in nil },
            prepare: @escaping @Sendable (Scene) async throws -> Void = { _ in },
            followed: Followed
        ) -> RemedyCase {
            RemedyCase(
                name: name,
                remedy: remedy,
                arguments: loginByPassword,
                input: Scene.password.input,
                issuer: issuer,
                configuration: configuration,
                prepare: prepare,
                followed: followed
            )
        }

        private static func changing(_ old: String, _ new: String) -> Followed {
            .configuration({ text, _ in text.replacing(old, with: new) })
        }

        /// The session `work` with more keys, and others in place of its own.
        private static func session(
            _ more: String,
            client: String = "demo-public",
            replacing old: String = "",
            with new: String = ""
        ) -> @Sendable (Scene) -> String? {
            { scene in
                let text = Scene.session("work", scene.issuer, client: client, more: scene.filled(more))
                return old.isEmpty ? text : text.replacing(old, with: scene.filled(new))
            }
        }

        @Test func `a client that is a document is accepted once the server can read it`() async throws {
            let document = "https://client.example/client.json"
            let scene = try await Scene { $0.metadata["client_id_metadata_document_supported"] = true }
            try scene.agent.configure(
                Scene.session("work", scene.issuer, more: "client_metadata_url = \"\(document)\"")
                    .replacing("client_id = \"demo-public\"\n", with: "").replacing("\"openid\", ", with: "")
            )
            try await scene.agent.start()
            func tokens(_ number: Int) -> IssuerResponse {
                .json([
                    "access_token": .string("AT-\(number)"), "refresh_token": .string("RT-\(number)"),
                    "token_type": "Bearer", "expires_in": 600,
                ])
            }
            scene.issuer.queue(tokens(1))
            try await scene.logIn()
            #expect(scene.issuer.requests(to: "/token").last?.form["client_id"] == document)
            scene.issuer.queue(.failure("invalid_client", status: 401))
            let refused = try await scene.agent.tokenctl("refresh", "work")
            let remedy = PrintedRemedy(refused, holding: "once the server can read \(document)")
            #expect(remedy != nil, "\(refused)")
            scene.issuer.queue(tokens(2))
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            #expect(try await scene.token() == "AT-2")
        }

        private static let confidential = "client_secret = \"demo-secret-7f3a\"\n"

        private static let ofSecrets: [RemedyCase] = [
            RemedyCase(
                name: "a client secret that nobody has given",
                remedy: "tokenctl login work --client-secret-stdin",
                arguments: loginByPassword,
                input: Scene.password.input,
                configuration: session("client_secret_sealed = true", client: "demo-confidential"),
                followed: .shell(
                    """
                    printf 'demo-secret-7f3a\\n' | tokenctl login work --client-secret-stdin || true
                    """
                )
            ),
            login(
                "a server that takes no assertion of a secret",
                "client_authentication to \"basic\", or \"private_key_jwt\" with client_key_file",
                issuer: { $0.metadata["token_endpoint_auth_signing_alg_values_supported"] = ["RS256"] },
                configuration: session(
                    confidential + "client_authentication = \"client_secret_jwt\"",
                    client: "demo-confidential"
                ),
                followed: changing("client_secret_jwt", "basic")
            ),
        ]

        private static let ofProofs: [RemedyCase] = [
            login(
                "a server that binds no token to the key",
                "dpop = false, or enable DPoP for this client at the server",
                issuer: {
                    $0.dpop = .allowed
                    $0.ignoresProofs = true
                },
                configuration: session("dpop = true"),
                followed: changing("dpop = true\n", "")
            )
        ]

        private static let ofIDTokens: [RemedyCase] = [
            login(
                "a server that sends no ID token, which the session requires",
                "scopes to include openid, or remove id_token = \"required\"",
                configuration: session(
                    "id_token = \"required\"",
                    replacing: "\"openid\", ",
                    with: ""
                ),
                followed: changing("[\"offline_access\"", "[\"openid\", \"offline_access\"")
            ),
            login(
                "a server that says no more whose login it is",
                "after a logout",
                prepare: { scene in
                    try await scene.logIn()
                    scene.issuer.settings.knownScopes.remove("openid")
                },
                followed: .shell("tokenctl logout work")
            ),
        ]

        private static let otherIssuer = "https://id.example"

        private static let ofDiscovery: [RemedyCase] = [
            RemedyCase(
                name: "a new session at an issuer that calls itself otherwise",
                remedy: "--metadata-url",
                arguments: ["add", "z", "--issuer", "ISSUER", "--client-id", "demo-public"],
                then: nil,
                issuer: { $0.metadata["issuer"] = .string(otherIssuer) },
                followed: .shell(
                    """
                    tokenctl add z --client-id demo-public --flow password \
                    --metadata-url ISSUER/.well-known/openid-configuration && tokenctl get z; test $? = 4
                    """
                )
            ),
            login(
                "an issuer that calls itself otherwise",
                "issuer = \"\(otherIssuer)\" and metadata_url",
                issuer: {
                    $0.metadata["issuer"] = .string(otherIssuer)
                    $0.idTokenClaims["iss"] = .string(otherIssuer)
                },
                followed: .configuration({ text, remedy in
                    let keys = remedy.text.replacing(" if you trust this server", with: "")
                        .replacing(" and ", with: "\n")
                    let lines = text.split(separator: "\n").map {
                        $0.hasPrefix("issuer =") ? String(keys) : String($0)
                    }
                    return lines.joined(separator: "\n") + "\n"
                })
            ),
            login(
                "an issuer that spells itself otherwise",
                ", as the server spells it",
                configuration: { scene in
                    Scene.session("work", scene.issuer).replacing("//127.0.0.1", with: "//localhost")
                },
                prepare: { scene in
                    let name = scene.issuer.issuer.replacing("//127.0.0.1", with: "//LOCALHOST")
                    scene.issuer.settings.metadata["issuer"] = .string(name)
                    scene.issuer.settings.idTokenClaims["iss"] = .string(name)
                },
                followed: .configuration({ text, remedy in
                    let key = remedy.text.split(separator: ", as ").first ?? ""
                    let lines = text.split(separator: "\n").map {
                        $0.hasPrefix("issuer =") ? String(key) : String($0)
                    }
                    return lines.joined(separator: "\n") + "\n"
                })
            ),
        ]

        private static let ofClients: [RemedyCase] = [
            login(
                "no client, and a server that registers none",
                "client_id to a client registered at the server",
                configuration: session("", replacing: "client_id = \"demo-public\"\n", with: ""),
                followed: changing("scopes =", "client_id = \"demo-public\"\nscopes =")
            ),
            login(
                "no client, and a server that refuses to register one",
                "client_id to a client registered at the server",
                configuration: session("", replacing: "client_id = \"demo-public\"\n", with: ""),
                prepare: { scene in
                    scene.issuer.settings.metadata["registration_endpoint"] =
                        .string("\(scene.issuer.issuer)/register")
                    scene.issuer.add(
                        Route("POST", "/register") { _ in .failure("access_denied", status: 403) }
                    )
                },
                followed: changing("scopes =", "client_id = \"demo-public\"\nscopes =")
            ),
            RemedyCase(
                name: "an import for a session without a client",
                remedy: "client_id to the client that the refresh token was issued to",
                arguments: ["login", "work", "--flow", "import"],
                input: "no-token\n",
                then: nil,
                configuration: session("", replacing: "client_id = \"demo-public\"\n", with: ""),
                prepare: { scene in
                    scene.issuer.settings.metadata["registration_endpoint"] =
                        .string("\(scene.issuer.issuer)/register")
                },
                followed: changing("scopes =", "client_id = \"demo-public\"\nscopes =")
            ),
        ]

        private static let ofFlows: [RemedyCase] = [
            RemedyCase(
                name: "a level of trust that only a browser can ask for",
                remedy: "--flow browser",
                arguments: ["login", "work", "--flow", "device", "--acr", "high"],
                again: ["login", "work", "--flow", "browser", "--acr", "high"],
                followed: .shell("true")
            ),
            RemedyCase(
                name: "an answer by form that nobody can paste",
                remedy: "without --paste",
                arguments: ["login", "work", "--flow", "browser", "--paste"],
                input: "x\n",
                then: nil,
                configuration: session("authorization_parameters = { response_mode = \"form_post\" }"),
                followed: changing("authorization_parameters = { response_mode = \"form_post\" }", "")
            ),
        ]

        @Test(
            arguments: ofSecrets + ofProofs + ofIDTokens + ofDiscovery + ofClients + ofFlows
        )
        func `what is said about a server helps`(_ row: RemedyCase) async throws {
            try await row.verify()
        }
    }
}
