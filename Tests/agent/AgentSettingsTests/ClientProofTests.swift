// SPDX-License-Identifier: MIT

import OAuthClient
import ServerSettings
import Testing
import TokenCore

@testable import AgentSettings

/// The keys by which a client proves who it is.
struct ClientProofTests {
    private static func read(_ keys: String) throws(ConfigurationProblems) -> ClientIdentity {
        let text =
            "[session.work]\nkind = \"oidc\"\nissuer = \"https://id.example\"\nclient_id = \"cli\"\n" + keys
        let settings = try SettingsReader(home: "/home/me").read(Array(text.utf8), file: "config.toml")
        return settings.sessions[0].profile { _ in SecretID(rawValue: 9) }.client
    }

    private static let key = AssertionKey(.file("/home/me/key.pem"))
    private static let secret = SecretSource.command(["pass", "x"])
    private static let given = SessionName("work").map { SecretSource.given(to: $0) } ?? .command([])

    @Test(
        arguments: [
            ("", .none), (#"client_authentication = "basic""#, .none),
            (#"client_secret_command = ["pass", "x"]"#, .secret(secret, .automatic)),
            (#"client_secret = "s""#, .secret(.sealed(SecretID(rawValue: 9)), .automatic)),
            (
                "client_secret_command = [\"pass\", \"x\"]\nclient_authentication = \"post\"",
                .secret(secret, .post)
            ),
            (#"client_key_file = "~/key.pem""#, .keyAssertion(key, .endpoint)),
            (
                "client_authentication = \"private_key_jwt\"\nclient_key_command = [\"pass\", \"x\"]\nclient_key_id = \"k\"",
                .keyAssertion(AssertionKey(secret, identifier: "k"), .endpoint)
            ),
            (
                "client_key_file = \"~/key.pem\"\nclient_assertion_audience = \"issuer\"",
                .keyAssertion(key, .issuer)
            ),
            (
                "client_key_file = \"~/key.pem\"\nclient_assertion_audience = \"endpoint\"",
                .keyAssertion(key, .endpoint)
            ),
            (
                "client_key_file = \"~/key.pem\"\nclient_assertion_audience = \"urn:x\"",
                .keyAssertion(key, .other("urn:x"))
            ),
            (
                "client_authentication = \"private_key_jwt\"\nclient_key_file = \"~/key.pem\"\n"
                    + "client_certificate_file = \"/c.pem\"\nclient_assertion_claims = { iss = \"a.example\" }",
                .keyAssertion(
                    AssertionKey(key.source, certificate: "/c.pem", claims: ["iss": "a.example"]),
                    .endpoint
                )
            ),
            ("client_secret_sealed = true", .secret(given, .automatic)),
            ("client_secret_sealed = false", .none),
            (
                "client_secret_sealed = true\nclient_authentication = \"client_secret_jwt\"",
                .secretAssertion(given, .endpoint)
            ),
            (#"client_assertion = "github-actions""#, .externalAssertion(.gitHubActions, .endpoint)),
            (
                "client_assertion = \"github-actions\"\nclient_assertion_audience = \"api://tokens\"",
                .externalAssertion(.gitHubActions, .other("api://tokens"))
            ),
            (
                "client_assertion_file = \"/run/token\"\nclient_authentication = \"private_key_jwt\"",
                .externalAssertion(.file("/run/token"), .endpoint)
            ),
            (
                #"client_assertion_command = ["pass", "x"]"#,
                .externalAssertion(.command(["pass", "x"]), .endpoint)
            ),
            (
                "client_certificate_file = \"/c.pem\"\nclient_key_command = [\"pass\", \"x\"]",
                .certificate("/c.pem", key: secret)
            ),
            (
                "client_secret_command = [\"pass\", \"x\"]\nclient_authentication = \"client_secret_jwt\"",
                .secretAssertion(secret, .endpoint)
            ),
        ] as [(String, ClientProof)]
    )
    func `a proof is read`(keys: String, proof: ClientProof) throws {
        let client = try Self.read(keys)
        #expect(client == ClientIdentity("cli", proof: proof))
    }

    @Test(arguments: [("basic", ClientSecretMethod.basic), ("post", .post), ("basic_secret", .basicSecret)])
    func `a certificate and a secret are read together`(word: String, method: ClientSecretMethod) throws {
        let client = try Self.read(
            """
            client_authentication = "\(word)"
            client_secret_command = ["pass", "x"]
            client_certificate_file = "/c.pem"
            client_key_file = "/k.pem"
            """
        )
        let certificate = HandshakeCertificate("/c.pem", key: .file("/k.pem"))
        #expect(
            client
                == ClientIdentity("cli", proof: .secret(Self.secret, method), certificate: certificate)
        )
        #expect(client.showsCertificate)
    }

    @Test(arguments: [
        (
            "client_authentication = \"post\"\nclient_certificate_file = \"/c\"\nclient_key_file = \"/k\"",
            [
                "client_authentication: \"post\" requires client_secret or client_secret_file or "
                    + "client_secret_command or client_secret_sealed"
            ]
        ),
        (
            "client_authentication = \"post\"\nclient_certificate_file = \"/c\"\nclient_secret = \"s\"",
            ["client_authentication: \"post\" requires client_key_file or client_key_command"]
        ),
        (
            "client_certificate_file = \"/c\"\nclient_key_file = \"/k\"\nclient_secret = \"s\"",
            ["client_secret: has no effect with client_authentication = \"tls\""]
        ),
        (
            #"client_authentication = "private_key_jwt""#,
            [
                "client_authentication: \"private_key_jwt\" requires client_key_file or client_key_command or "
                    + "client_assertion or client_assertion_file or client_assertion_command"
            ]
        ),
        (
            #"client_authentication = "client_secret_jwt""#,
            [
                "client_authentication: \"client_secret_jwt\" requires client_secret or client_secret_file or "
                    + "client_secret_command or client_secret_sealed"
            ]
        ),
        (
            "client_key_file = \"/k\"\nclient_key_command = [\"k\"]",
            ["client_key_command: mutually exclusive: client_key_file, client_key_command"]
        ),
        (
            "client_key_file = \"/k\"\nclient_secret = \"s\"",
            ["client_secret: has no effect with client_authentication = \"private_key_jwt\""]
        ),
        (
            "client_key_file = \"/k\"\nclient_authentication = \"basic\"",
            ["client_key_file: has no effect with client_authentication = \"basic\""]
        ),
        (
            #"client_key_id = "k""#,
            ["client_key_id: has no effect without a client key or assertion"]
        ),
        (
            #"client_authentication = "jwt""#,
            [
                "client_authentication: \"jwt\" is not one of automatic, basic, post, basic_id, basic_secret, "
                    + "private_key_jwt, client_secret_jwt, tls"
            ]
        ),
        (
            "client_key_file = \"/k\"\nclient_assertion_file = \"/a\"",
            ["client_assertion_file: mutually exclusive: client_key_file, client_assertion_file"]
        ),
        (
            "client_assertion_file = \"/a\"\nclient_key_id = \"k\"",
            ["client_key_id: has no effect: the assertion of client_assertion_file is signed elsewhere"]
        ),
        (
            "client_assertion_command = [\"a\"]\nclient_assertion_audience = \"issuer\"",
            [
                "client_assertion_audience: has no effect: the assertion of client_assertion_command is signed elsewhere"
            ]
        ),
        (
            "client_assertion = \"github-actions\"\nclient_key_id = \"k\"",
            ["client_key_id: has no effect: the assertion of client_assertion is signed elsewhere"]
        ),
        (
            "client_key_file = \"/k\"\nclient_assertion_claims = { exp = \"1\" }",
            ["client_assertion_claims: must not contain exp, which the agent sets itself"]
        ),
        (
            "client_assertion_file = \"/a\"\nclient_assertion_claims = { iss = \"x\" }",
            [
                "client_assertion_claims: has no effect: the assertion of client_assertion_file is signed elsewhere"
            ]
        ),
        (
            "client_secret_file = \"/s\"\nclient_secret_sealed = true",
            ["client_secret_sealed: mutually exclusive: client_secret_file, client_secret_sealed"]
        ),
        (
            "client_secret_sealed = \"yes\"",
            ["client_secret_sealed: must be true or false, not a string"]
        ),
        (#"client_assertion = "gitlab""#, ["client_assertion: must be \"github-actions\", not \"gitlab\""]),
        (
            #"client_authentication = "tls""#,
            [
                "client_authentication: \"tls\" requires client_certificate_file",
                "client_authentication: \"tls\" requires client_key_file or client_key_command",
            ]
        ),
        (
            #"client_certificate_file = "/c""#,
            ["client_authentication: \"tls\" requires client_key_file or client_key_command"]
        ),
        (
            "client_certificate_file = \"/c\"\nflow = \"client_credentials\"",
            ["client_authentication: \"tls\" requires client_key_file or client_key_command"]
        ),
        (#"client_key_file = "key.pem""#, ["client_key_file: must be an absolute path or begin with ~/"]),
    ])
    func `a proof that cannot work is told by its key`(keys: String, complaints: [String]) {
        let problems = #expect(throws: ConfigurationProblems.self) { try Self.read(keys) }
        let told = problems?.lines.map {
            $0.split(separator: "session.work.", maxSplits: 1).last.map(String.init)
        }
        #expect(told == complaints)
    }

    @Test func `another kind of server has no such keys`() {
        let text =
            "[session.a]\nkind = \"cognito\"\nregion = \"eu-west-1\"\nuser_pool_id = \"eu-west-1_a\"\n"
            + "client_id = \"c\"\nclient_key_file = \"/k\"\n"
        let problems = #expect(throws: ConfigurationProblems.self) {
            try SettingsReader(home: nil).read(Array(text.utf8), file: "c")
        }
        #expect(
            problems?.lines.count == 1
                && problems?.lines.first?.contains("client_key_file: unknown key") == true
        )
    }
}
