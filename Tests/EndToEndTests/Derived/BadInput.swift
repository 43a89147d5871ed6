// SPDX-License-Identifier: MIT

import Testing
import Text

/// An error in the configuration, in a file that it names, or at a server, with the message about it.
///
/// `HERE` stands for the directory of the configuration file, `ISSUER` for the address of an issuer.
struct BadInput: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// Tables next to that of the session `work`, which is valid.
    var tables: String
    var command: [String]
    var status: Int32
    /// Standard error, line by line.
    var lines: [String]
    /// The members of the issuer's metadata that replace its own.
    var metadata: [String: JSONValue] = [:]

    init(
        _ description: String,
        _ tables: String,
        _ command: String,
        status: Int32 = 2,
        metadata: [String: JSONValue] = [:],
        _ lines: String...
    ) {
        testDescription = description
        self.tables = tables
        self.command = command.split(separator: " ").map(String.init)
        self.status = status
        self.metadata = metadata
        self.lines = lines
    }

    /// Returns the table of a session `name` that exchanges tokens of the session in `source`.
    private static func exchange(_ name: String, of source: String) -> String {
        "[session.\(name)]\nissuer = \"ISSUER\"\nclient_id = \"c\"\nflow = \"token_exchange\"\n\(source)\n"
    }

    /// Returns the table of a client that logs in without a user and authenticates with `keys`.
    private static func robot(_ keys: String) -> String {
        "[session.robot]\nissuer = \"ISSUER\"\nclient_id = \"c\"\nflow = \"client_credentials\"\n\(keys)\n"
    }

    private static let configuration = [
        BadInput(
            "an exchange in a circle",
            exchange("a", of: #"from = "b""#) + exchange("b", of: #"from = "a""#),
            "config check",
            "tokenctl: HERE/config.toml:10: session.a.from: circular source: a -> b -> a",
            "tokenctl: HERE/config.toml:15: session.b.from: circular source: b -> a -> b"
        ),
        BadInput(
            "an exchange of itself",
            exchange("a", of: #"from = "a""#),
            "config check",
            "tokenctl: HERE/config.toml:10: session.a.from: must not be the session itself"
        ),
        BadInput(
            "a source that does not exist",
            exchange("a", of: #"from = "worc""#),
            "config check",
            "tokenctl: HERE/config.toml:10: session.a.from: no session named \"worc\"; did you mean work?"
        ),
        BadInput(
            "a source that is nothing like one",
            exchange("a", of: #"from = "somewhere-else""#),
            "config check",
            "tokenctl: HERE/config.toml:10: session.a.from: no session named \"somewhere-else\""
        ),
        BadInput(
            "an exchange of nothing",
            exchange("a", of: ""),
            "config check",
            "tokenctl: HERE/config.toml:6: session.a.from: required: session whose token is exchanged, "
                + "or subject_token_file"
        ),
        BadInput(
            "an exchange of a refresh token",
            exchange("a", of: "from = \"work\"\nsubject_token_type = \"refresh_token\""),
            "config check",
            "tokenctl: HERE/config.toml:11: session.a.subject_token_type: must not be a refresh token: "
                + "exchanges do not support it"
        ),
        BadInput(
            "a key and an assertion",
            robot("client_key_file = \"HERE/p384.pem\"\nclient_assertion_file = \"HERE/directory\""),
            "config check",
            "tokenctl: HERE/config.toml:11: session.robot.client_assertion_file: "
                + "mutually exclusive: client_key_file, client_assertion_file"
        ),
        BadInput(
            "a certificate without a key",
            robot(#"client_certificate_file = "HERE/expired.pem""#),
            "config check",
            "tokenctl: HERE/config.toml:6: session.robot.client_authentication: "
                + "\"tls\" requires client_key_file or client_key_command"
        ),
        BadInput(
            "a role of no account",
            "[session.r]\nkind = \"aws_role\"\nfrom = \"work\"\nregion = \"eu-west-1\"\nrole_arn = \"deploy\"\n",
            "config check",
            "tokenctl: HERE/config.toml:10: session.r.role_arn: \"deploy\" is not a role ARN "
                + "such as \"arn:aws:iam::123456789012:role/NAME\""
        ),
    ]

    private static let files = [
        BadInput(
            "an assertion that is a directory",
            robot(#"client_assertion_file = "HERE/directory""#),
            "get robot",
            status: 5,
            "tokenctl: robot: client_assertion_file HERE/directory: is a directory, not a file"
        ),
        BadInput(
            "an assertion that is not there",
            robot(#"client_assertion_file = "HERE/missing""#),
            "get robot",
            status: 5,
            "tokenctl: robot: client_assertion_file HERE/missing: No such file or directory"
        ),
        BadInput(
            "an assertion that others may write",
            robot(#"client_assertion_file = "HERE/open""#),
            "get robot",
            status: 5,
            "tokenctl: robot: client_assertion_file HERE/open: is writable by other users (run: chmod go-w HERE/open)"
        ),
        BadInput(
            "a key of a type that nobody takes",
            robot(#"client_key_file = "HERE/p384.pem""#),
            "get robot",
            status: 5,
            "tokenctl: robot: client_key_file HERE/p384.pem: the key is damaged or not on the curve P-256 "
                + "(set: client_key_file to an RSA, P-256 or Ed25519 key in PEM or JWK format)"
        ),
        BadInput(
            "a key that the server does not take",
            robot(#"client_key_file = "HERE/p256.pem""#),
            "get robot",
            metadata: ["token_endpoint_auth_signing_alg_values_supported": ["RS256", "PS256"]],
            "tokenctl: robot: client_key_file HERE/p256.pem: signs with ES256, which is not supported by the server "
                + "(supported: RS256, PS256)\n"
                + "  Set: client_key_file to an RSA key in PEM or JWK format, then run tokenctl refresh robot"
        ),
        BadInput(
            "a certificate in place of a key",
            robot(#"client_key_file = "HERE/expired.pem""#),
            "get robot",
            status: 5,
            "tokenctl: robot: client_key_file HERE/expired.pem: contains a certificate, not a private key"
        ),
        BadInput(
            "a key with a passphrase",
            robot(#"client_key_file = "HERE/encrypted.pem""#),
            "get robot",
            "tokenctl: robot: client_key_file HERE/encrypted.pem: the key is encrypted with a passphrase\n"
                + "  Set: client_key_command to a command that decrypts the key, such as openssl pkey, "
                + "then run tokenctl refresh robot"
        ),
        BadInput(
            "an expired certificate",
            robot(
                "client_certificate_file = \"HERE/expired.pem\"\nclient_key_file = \"HERE/expired-key.pem\""
            ),
            "get robot",
            status: 5,
            "tokenctl: robot: client_certificate_file HERE/expired.pem: the certificate expired 2 days ago "
                + "(retry: with a renewed certificate)"
        ),
        BadInput(
            "a certificate of another key",
            robot("client_certificate_file = \"HERE/good.pem\"\nclient_key_file = \"HERE/expired-key.pem\""),
            "get robot",
            status: 5,
            "tokenctl: robot: client_certificate_file HERE/good.pem: "
                + "does not match the key in client_key_file HERE/expired-key.pem"
        ),
        BadInput(
            "a subject token that others may write",
            exchange("a", of: #"subject_token_file = "HERE/open""#),
            "get a",
            status: 5,
            "tokenctl: a: subject_token_file HERE/open: is writable by other users (run: chmod go-w HERE/open)"
        ),
    ]

    private static let servers = [
        BadInput(
            "an issuer that calls itself otherwise",
            "",
            "login work",
            metadata: ["issuer": "https://id.example"],
            "tokenctl: work: ISSUER/.well-known/openid-configuration: the server metadata is for issuer "
                + "https://id.example, not ISSUER\n  Set: issuer = \"https://id.example\" and "
                + "metadata_url = \"ISSUER/.well-known/openid-configuration\" if you trust this server"
        ),
        BadInput(
            "an issuer without a token endpoint",
            "",
            "login work",
            metadata: ["token_endpoint": .null],
            "tokenctl: work: ISSUER/.well-known/openid-configuration: the server metadata has no "
                + "token_endpoint\n  Set: [session.work] as its server requires, then run tokenctl login work"
        ),
        BadInput(
            "an issuer that gives no codes",
            "",
            "login work",
            metadata: ["response_types_supported": ["token"]],
            "tokenctl: work: the server does not support the authorization code flow\n"
                + "  Set: --flow to another flow, such as device"
        ),
        BadInput(
            "an issuer that wants to be pushed to, nowhere",
            "",
            "login work",
            metadata: [
                "require_pushed_authorization_requests": true, "pushed_authorization_request_endpoint": .null,
            ],
            "tokenctl: work: the server requires pushed requests, but has no "
                + "pushed_authorization_request_endpoint\n  Retry: after the server's metadata has been corrected"
        ),
        BadInput(
            "a new session at an issuer that calls itself otherwise",
            "",
            "add z --issuer ISSUER --client-id c",
            metadata: ["issuer": "https://id.example"],
            "tokenctl: ISSUER/.well-known/openid-configuration: the server metadata is for issuer "
                + "https://id.example, not ISSUER\n  Set: "
                + "--metadata-url ISSUER/.well-known/openid-configuration if you trust this server"
        ),
    ]

    static let all = configuration + files + servers
}
