// SPDX-License-Identifier: MIT

import Testing
import Text

/// Something wrong in the configuration, in a file that it names, or at a server; and what is then said.
///
/// `HERE` stands for the directory of the configuration file, `ISSUER` for the address of an issuer.
struct BadInput: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// Tables beside that of the session `work`, which is a good one.
    var tables: String
    var command: [String]
    var status: Int32
    /// Standard error, line by line.
    var lines: [String]
    /// What the issuer publishes in place of its own members.
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

    /// An exchange of the session `source`, called `name`.
    private static func exchange(_ name: String, of source: String) -> String {
        "[session.\(name)]\nissuer = \"ISSUER\"\nclient_id = \"c\"\nflow = \"token_exchange\"\n\(source)\n"
    }

    /// A client without a person, which proves itself by `keys`.
    private static func robot(_ keys: String) -> String {
        "[session.robot]\nissuer = \"ISSUER\"\nclient_id = \"c\"\nflow = \"client_credentials\"\n\(keys)\n"
    }

    private static let configuration = [
        BadInput(
            "an exchange in a circle",
            exchange("a", of: #"from = "b""#) + exchange("b", of: #"from = "a""#),
            "config check",
            "tokenctl: HERE/config.toml:10: session.a.from: leads in a circle: b is itself made from a; "
                + "one of them needs another source",
            "tokenctl: HERE/config.toml:15: session.b.from: leads in a circle: a is itself made from b; "
                + "one of them needs another source"
        ),
        BadInput(
            "an exchange of itself",
            exchange("a", of: #"from = "a""#),
            "config check",
            "tokenctl: HERE/config.toml:10: session.a.from: names the session itself"
        ),
        BadInput(
            "a source that does not exist",
            exchange("a", of: #"from = "worc""#),
            "config check",
            "tokenctl: HERE/config.toml:10: session.a.from: there is no session \"worc\"; did you mean work?"
        ),
        BadInput(
            "a source that is nothing like one",
            exchange("a", of: #"from = "somewhere-else""#),
            "config check",
            "tokenctl: HERE/config.toml:10: session.a.from: there is no session \"somewhere-else\"; "
                + "name one that is there, or make it"
        ),
        BadInput(
            "an exchange of nothing",
            exchange("a", of: ""),
            "config check",
            "tokenctl: HERE/config.toml:6: session.a.from: is missing: the session whose token is exchanged, "
                + "or subject_token_file"
        ),
        BadInput(
            "an exchange of a refresh token",
            exchange("a", of: "from = \"work\"\nsubject_token_type = \"refresh_token\""),
            "config check",
            "tokenctl: HERE/config.toml:11: session.a.subject_token_type: must not be a refresh token: "
                + "none is sent to another server, and none is kept"
        ),
        BadInput(
            "a key and an assertion",
            robot("client_key_file = \"HERE/p384.pem\"\nclient_assertion_file = \"HERE/directory\""),
            "config check",
            "tokenctl: HERE/config.toml:11: session.robot.client_assertion_file: "
                + "only one of client_key_file, client_assertion_file may be given"
        ),
        BadInput(
            "a certificate without a key",
            robot(#"client_certificate_file = "HERE/expired.pem""#),
            "config check",
            "tokenctl: HERE/config.toml:6: session.robot.client_authentication: "
                + "\"tls\" needs client_key_file or client_key_command"
        ),
        BadInput(
            "a role of no account",
            "[session.r]\nkind = \"aws_role\"\nfrom = \"work\"\nregion = \"eu-west-1\"\nrole_arn = \"deploy\"\n",
            "config check",
            "tokenctl: HERE/config.toml:10: session.r.role_arn: \"deploy\" is no role, "
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
            "tokenctl: robot: client_assertion_file HERE/open: may be written by others (chmod go-w HERE/open)"
        ),
        BadInput(
            "a key of a type that nobody takes",
            robot(#"client_key_file = "HERE/p384.pem""#),
            "get robot",
            status: 5,
            "tokenctl: robot: client_key_file HERE/p384.pem: the key is damaged or not on the curve P-256 "
                + "(make an RSA, P-256 or Ed25519 key, as PEM or JWK)"
        ),
        BadInput(
            "a key that the server does not take",
            robot(#"client_key_file = "HERE/p256.pem""#),
            "get robot",
            metadata: ["token_endpoint_auth_signing_alg_values_supported": ["RS256", "PS256"]],
            "tokenctl: robot: client_key_file HERE/p256.pem: signs with ES256, which the server does not take "
                + "(it takes RS256, PS256); make an RSA key, as PEM or JWK, then tokenctl refresh robot"
        ),
        BadInput(
            "a certificate in place of a key",
            robot(#"client_key_file = "HERE/expired.pem""#),
            "get robot",
            status: 5,
            "tokenctl: robot: client_key_file HERE/expired.pem: holds a certificate, not a private key"
        ),
        BadInput(
            "a key with a passphrase",
            robot(#"client_key_file = "HERE/encrypted.pem""#),
            "get robot",
            "tokenctl: robot: client_key_file HERE/encrypted.pem: the key is encrypted with a passphrase; "
                + "let client_key_command print it, such as "
                + #"["openssl", "pkey", "-in", "FILE", "-passin", "file:PASSPHRASE-FILE"], then tokenctl refresh robot"#
        ),
        BadInput(
            "an expired certificate",
            robot(
                "client_certificate_file = \"HERE/expired.pem\"\nclient_key_file = \"HERE/expired-key.pem\""
            ),
            "get robot",
            status: 5,
            "tokenctl: robot: client_certificate_file HERE/expired.pem: the certificate expired 2 days ago (renew it)"
        ),
        BadInput(
            "a certificate of another key",
            robot("client_certificate_file = \"HERE/good.pem\"\nclient_key_file = \"HERE/expired-key.pem\""),
            "get robot",
            status: 5,
            "tokenctl: robot: client_certificate_file HERE/good.pem: "
                + "does not belong to the key in client_key_file HERE/expired-key.pem"
        ),
        BadInput(
            "a subject token that others may write",
            exchange("a", of: #"subject_token_file = "HERE/open""#),
            "get a",
            status: 5,
            "tokenctl: a: subject_token_file HERE/open: may be written by others (chmod go-w HERE/open)"
        ),
    ]

    private static let servers = [
        BadInput(
            "an issuer that calls itself otherwise",
            "",
            "login work",
            metadata: ["issuer": "https://id.example"],
            "tokenctl: work: ISSUER/.well-known/openid-configuration: the document is of issuer https://id.example, "
                + "not ISSUER; if this is the right server, write issuer = \"https://id.example\" and "
                + "metadata_url = \"ISSUER/.well-known/openid-configuration\""
        ),
        BadInput(
            "an issuer without a token endpoint",
            "",
            "login work",
            metadata: ["token_endpoint": .null],
            "tokenctl: work: ISSUER/.well-known/openid-configuration: the document has no token_endpoint; "
                + "fix the configuration, then tokenctl login work"
        ),
        BadInput(
            "an issuer that gives no codes",
            "",
            "login work",
            metadata: ["response_types_supported": ["token"]],
            "tokenctl: work: The server does not offer the authorization code flow; "
                + "log in by another flow, such as --flow device"
        ),
        BadInput(
            "an issuer that wants to be pushed to, nowhere",
            "",
            "login work",
            metadata: [
                "require_pushed_authorization_requests": true, "pushed_authorization_request_endpoint": .null,
            ],
            "tokenctl: work: The server wants pushed authorization requests but does not say where; "
                + "tell its administrator: pushed_authorization_request_endpoint is missing in its metadata"
        ),
        BadInput(
            "a new session at an issuer that calls itself otherwise",
            "",
            "add z --issuer ISSUER --client-id c",
            metadata: ["issuer": "https://id.example"],
            "tokenctl: ISSUER/.well-known/openid-configuration: the document is of issuer https://id.example, "
                + "not ISSUER; if this is the right server, use "
                + "--metadata-url ISSUER/.well-known/openid-configuration"
        ),
    ]

    static let all = configuration + files + servers
}
