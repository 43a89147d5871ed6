// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Remedies for keys, certificates and other files, by which a client proves itself.
    @Suite(.full) struct KeyRemedyTests {
        /// Returns the table of a client that logs in without a user and authenticates with `keys`.
        private static func robot(_ keys: String) -> @Sendable (Scene) -> String? {
            { scene in
                scene.filled(
                    """
                    [session.robot]
                    issuer = "ISSUER"
                    client_id = "c"
                    flow = "client_credentials"
                    \(keys)

                    """
                )
            }
        }

        /// Writes the file HOME/key by a command of openssl.
        private static func making(_ options: String) -> @Sendable (Scene) async throws -> Void {
            { scene in
                let made = try await scene.paste("(umask 077; openssl \(options) >key)")
                #expect(made.status == 0, "\(made)")
            }
        }

        private static let key = "client_key_file = \"HOME/key\""
        private static let curve = "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:"
        /// No server here has registered these clients: their requests are refused when they can be made.
        private static let refresh = "tokenctl refresh robot; test $? = 5"

        private static let ofKeys: [RemedyCase] = [
            RemedyCase(
                name: "a key of a type that nobody takes",
                remedy: "client_key_file to an RSA, P-256 or Ed25519 key",
                arguments: ["get", "robot"],
                then: 5,
                configuration: robot(key),
                files: making("\(curve)P-384"),
                followed: .shell("openssl \(curve)P-256 >key && \(refresh)")
            ),
            RemedyCase(
                name: "a key that the server does not take",
                remedy: "client_key_file to an RSA key in PEM or JWK format, then run tokenctl refresh robot",
                arguments: ["get", "robot"],
                then: 5,
                issuer: {
                    $0.metadata["token_endpoint_auth_signing_alg_values_supported"] = ["RS256", "PS256"]
                },
                configuration: robot(key),
                files: making("\(curve)P-256"),
                followed: .shell("openssl genpkey -algorithm RSA >key && \(refresh)")
            ),
            RemedyCase(
                name: "a key with a passphrase",
                remedy: "client_key_command to a command that decrypts the key",
                arguments: ["get", "robot"],
                then: 5,
                configuration: robot(key),
                files: { scene in
                    try scene.agent.home.write("horse\n", to: "passphrase")
                    try await making("\(curve)P-256 -aes256 -pass file:passphrase")(scene)
                },
                followed: .shell(
                    """
                    sed -i 's|^client_key_file.*|client_key_command = ["openssl", "pkey", "-in", "HOME/key", \
                    "-passin", "file:HOME/passphrase"]|' config/tokenagent/config.toml && \
                    tokenctl reload && { \(refresh); }
                    """
                )
            ),
            RemedyCase(
                name: "a key that others may read",
                remedy: "chmod 600",
                arguments: ["refresh", "robot"],
                then: 5,
                configuration: robot(key),
                files: { scene in
                    try await making("\(curve)P-256")(scene)
                    #expect(try await scene.paste("chmod 644 key").status == 0)
                },
                followed: .command(more: "; \(refresh)")
            ),
            RemedyCase(
                name: "an assertion that others may write",
                remedy: "chmod go-w",
                arguments: ["refresh", "robot"],
                then: 5,
                configuration: robot("client_assertion_file = \"HOME/assertion\""),
                files: { try $0.agent.home.write("assertion\n", to: "assertion", mode: 0o666) },
                followed: .command(more: "; \(refresh)")
            ),
            RemedyCase(
                name: "an expired certificate",
                remedy: "with a renewed certificate",
                arguments: ["get", "robot"],
                then: 5,
                configuration: robot("client_certificate_file = \"HOME/certificate\"\n\(key)"),
                files: { scene in
                    let authority = try CertificateAuthority()
                    let old = try authority.issue(validity: .seconds(-9 * 86_400)...(.seconds(-60 * 3_600)))
                    let new = try authority.issue()
                    try scene.agent.home.write(old.certificatePEM, to: "certificate")
                    try scene.agent.home.write(old.privateKeyPEM, to: "key")
                    try scene.agent.home.write(new.certificatePEM, to: "renewed")
                    try scene.agent.home.write(new.privateKeyPEM, to: "renewed-key")
                },
                followed: .shell("cp renewed certificate && cp renewed-key key && { \(refresh); }")
            ),
        ]

        /// An exchange of the token of `work`, at an endpoint of its own.
        private static func exchange(_ scene: Scene) -> String {
            Scene.session("work", scene.issuer)
                + scene.filled(
                    """
                    [session.narrow]
                    kind = "oauth2"
                    token_endpoint = "ISSUER/exchange"
                    client_id = "c"
                    flow = "token_exchange"
                    from = "work"

                    """
                )
        }

        /// Logs in, and has the endpoint answer with `members`, but for a request with `key`.
        private static func answering(
            _ members: JSONObject,
            unless key: String
        ) -> @Sendable (Scene) async throws -> Void {
            { scene in
                scene.issuer.add(
                    Route("POST", "/exchange") { request in
                        var answer: JSONObject = [
                            "access_token": "narrow", "token_type": "Bearer", "expires_in": 600,
                            "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
                        ]
                        if request.form[key] == nil {
                            for member in members.members { answer[member.name] = member.value }
                        }
                        return .json(.object(answer))
                    }
                )
                try await scene.logIn()
            }
        }

        private static let ofTokens: [RemedyCase] = [
            RemedyCase(
                name: "an exchange that is answered with a refresh token",
                remedy: "requested_token_type = \"access_token\"",
                arguments: ["get", "narrow"],
                configuration: exchange,
                prepare: answering(
                    ["issued_token_type": "urn:ietf:params:oauth:token-type:refresh_token"],
                    unless: "requested_token_type"
                ),
                followed: .shell(
                    """
                    sed -i 's/^from/requested_token_type = "access_token"\\nfrom/' config/tokenagent/config.toml && \
                    tokenctl reload
                    """
                )
            ),
            RemedyCase(
                name: "a token that is bound to a key",
                remedy: "dpop = true",
                arguments: ["get", "narrow"],
                then: nil,
                configuration: exchange,
                prepare: answering(["token_type": "DPoP"], unless: "none"),
                followed: .shell(
                    "sed -i 's/^from/dpop = true\\nfrom/' config/tokenagent/config.toml && tokenctl reload"
                )
            ),
        ]

        @Test(arguments: ofKeys + ofTokens)
        func `what is said about a key or a token helps`(_ row: RemedyCase) async throws {
            try await row.verify()
        }

        @Test func `a certificate is valid once the clock is right`() async throws {
            let shim = try await WallClockShim()
            let scene = try await Scene()
            let authority = try CertificateAuthority()
            let identity = try authority.issue()
            try scene.agent.home.write(identity.certificatePEM, to: "certificate")
            try scene.agent.home.write(identity.privateKeyPEM, to: "key")
            let keys = "client_certificate_file = \"HOME/certificate\"\n\(Self.key)"
            try scene.agent.configure(Self.robot(keys)(scene) ?? "")
            try shim.set(-3 * 86_400)
            try await scene.agent.start(extraEnvironment: shim.environment)
            let early = try await scene.agent.tokenctl("get", "robot")
            let remedy = try #require(PrintedRemedy(early, holding: "the clock of this machine"), "\(early)")
            try shim.set(0)
            let after = try await scene.agent.tokenctl("refresh", "robot")
            #expect(!after.standardError.contains(remedy.text), "\(after)")
        }

        @Test func `an authority of its own is named`() async throws {
            let authority = try CertificateAuthority()
            let scene = try await Scene(options: { $0.tls = try authority.issue() })
            try scene.agent.home.write(authority.certificatePEM, to: "config/tokenagent/ca.pem")
            try await scene.agent.start()
            let line = "tokenctl login work \(Scene.password.more)"
            let refused = try await scene.paste(line, input: Scene.password.input)
            let remedy = "ca_file to the certificate of the server's CA"
            let found = try #require(PrintedRemedy(refused, holding: remedy), "\(refused)")
            let file = scene.agent.home.path("config/tokenagent/ca.pem")
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text.replacing("flow =", with: "ca_file = \"\(file)\"\nflow ="))
            #expect(try await scene.agent.tokenctl("reload").status == 0)
            let after = try await scene.paste(line, input: Scene.password.input)
            #expect(after.status == 0 && !after.standardError.contains(found.text), "\(after)")
        }

        @Test func `a client secret that has changed at the server is given again`() async throws {
            let shim = try await WallClockShim()
            let scene = try await Scene(
                session: "client_secret_file = \"/tmp\"",
                client: "demo-confidential"
            )
            let file = try scene.agent.home.write("demo-secret-7f3a\n", to: "secret")
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text.replacing("\"/tmp\"", with: "\"\(file)\""))
            try await scene.agent.start(extraEnvironment: shim.environment)
            try await scene.logIn()
            try scene.agent.home.write("another\n", to: "secret")
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 5)
            // Longer than a server that is being redeployed refuses its clients.
            try shim.set(700, sinceBoot: 700)
            let refused = try await scene.agent.tokenctl("refresh", "work")
            let words = "then run tokenctl refresh work"
            let remedy = try #require(PrintedRemedy(refused, holding: words), "\(refused) \(scene.agent.log)")
            try scene.agent.home.write("demo-secret-7f3a\n", to: "secret")
            try await scene.follow(remedy, .shell("tokenctl refresh work"))
            #expect(try await scene.agent.reaches("ready", "work"))
        }
    }
}
