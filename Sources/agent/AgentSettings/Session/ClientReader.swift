// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// A reader of the keys that identify and authenticate the client.
struct ClientReader: SessionPartReading {
    private(set) var table: TableReader
    private let home: String?

    init(_ table: TableReader, home: String?) {
        self.table = table
        self.home = home
    }

    /// Returns the client authentication keys that are set in `table`.
    static func writtenProofs(in table: TableReader) -> [String] {
        ClientConfigurationKeys.proofs.filter { table.has($0) }
    }

    /// Reads the client, or returns `nil` if it is missing or cannot authenticate.
    mutating func read(_ kind: ServerKind, _ flow: LoginFlow) -> ConfiguredClient? {
        let isUnregistered = kind == .oidc && flow != .jwtBearer && !table.has("client_id")
        let id = isUnregistered ? unregistered(flow) : clientID(kind, flow)
        var client = ConfiguredClient(id: id ?? "", isUnregistered: isUnregistered)
        client.metadataURL = kind == .oidc ? metadataURL(flow) : nil
        client.secret = kind.takesClientSecret ? clientSecret() : .none
        let isProven = kind.isStandard ? readProof(into: &client) : true
        return id == nil || !isProven ? nil : client
    }

    private mutating func clientID(_ kind: ServerKind, _ flow: LoginFlow) -> String? {
        guard kind.hasClients else { return "" }
        // The assertion, or the token to exchange, identifies the client (RFC 7523 §2.1, RFC 8693 §2.1).
        let isOptional = flow == .jwtBearer || kind == .oauth2 && flow == .tokenExchange
        if isOptional, !table.has("client_id") { return withoutClient() }
        return table.required("client_id", "client ID registered at the authorization server")
    }

    /// Returns an empty ID for a client that is registered at the login, or `nil` if the session requires an
    /// existing one.
    ///
    /// Servers that publish metadata may register clients. Credentials cannot belong to a client that does
    /// not exist yet.
    private mutating func unregistered(_ flow: LoginFlow) -> String? {
        guard withoutClient() != nil else { return nil }
        if flow == .import {
            table.report("client_id", "required: a refresh token works only with the client it was issued to")
            return nil
        }
        if flow == .tokenExchange {
            table.report("client_id", "required: a token exchange works only with a registered client")
            return nil
        }
        return ""
    }

    /// Returns an empty ID for a session without a client, or `nil` if a credential shows that there is one.
    private mutating func withoutClient() -> String? {
        _ = table.string("client_id")
        guard let proof = Self.writtenProofs(in: table).first else { return "" }
        table.report("client_id", "required: \(proof) authenticates the client with this ID")
        return nil
    }

    /// Reads `client_metadata_url`, the URL by which the server identifies the client.
    private mutating func metadataURL(_ flow: LoginFlow) -> String? {
        let address = table.url("client_metadata_url")
        if address != nil, table.has("client_id") {
            table.report("client_metadata_url", "cannot be combined with client_id, which takes precedence")
        } else if address != nil, flow == .jwtBearer {
            table.report(
                "client_metadata_url",
                "has no effect with flow \"jwt_bearer\"",
                .set("client_id to this URL")
            )
        }
        return address?.description
    }

    private mutating func clientSecret() -> ConfiguredSecret {
        let literal = table.string("client_secret")
        let file = table.path("client_secret_file", home: home)
        let command = table.command("client_secret_command")
        let isSealed = table.boolean("client_secret_sealed") ?? false
        table.permitsOne(of: ClientConfigurationKeys.secrets)
        if let command { return .command(command) }
        if let file { return .file(file) }
        if isSealed { return .given }
        return literal.map { .literal($0) } ?? .none
    }

    /// Reads how the client authenticates.
    ///
    /// - Returns: `true` if everything required for that is set.
    private mutating func readProof(into client: inout ConfiguredClient) -> Bool {
        let word = table.word("client_authentication", ClientAuthenticationMethod.self) ?? .automatic
        client.key = clientKey()
        client.keyID = table.string("client_key_id")
        client.certificateFile = table.path("client_certificate_file", home: home)
        client.assertion = externalAssertion()
        client.assertionAudience = assertionAudience()
        client.assertionClaims = assertionClaims()
        client.authentication = word == .automatic ? decided : word
        return checkProof(client.authentication)
    }

    /// The authentication method that follows from the keys that are set.
    private var decided: ClientAuthenticationMethod {
        if table.has(ClientConfigurationKeys.certificate) { return .tls }
        return written(ClientConfigurationKeys.keys + ClientConfigurationKeys.assertions).isEmpty
            ? .automatic : .privateKeyJWT
    }

    private mutating func clientKey() -> SecretSource? {
        let file = table.path("client_key_file", home: home)
        let command = table.command("client_key_command")
        return command.map { .command($0) } ?? file.map { .file($0) }
    }

    private mutating func externalAssertion() -> AssertionSource? {
        let word = table.string("client_assertion")
        let file = table.path("client_assertion_file", home: home)
        let command = table.command("client_assertion_command")
        table.permitsOne(of: ClientConfigurationKeys.keys + ClientConfigurationKeys.assertions)
        if let word, word.bytewise != "github-actions" {
            table.report("client_assertion", "must be \"github-actions\", not \"\(word)\"")
        }
        return command.map { .command($0) } ?? file.map { .file($0) } ?? word.map { _ in .gitHubActions }
    }

    /// Reads `client_assertion_audience`.
    private mutating func assertionAudience() -> AssertionAudience {
        switch table.string("client_assertion_audience") {
        case nil, "endpoint": return .endpoint
        case "issuer":
            if !table.has("issuer") {
                table.report("client_assertion_audience", "\"issuer\" requires the key issuer")
            } else if table.string("issuer").map(IssuerNameRules.isTemplate) == true {
                table.report("client_assertion_audience", "\"issuer\" requires the issuer of one tenant")
            }
            return .issuer
        case let text?: return .other(text)
        }
    }

    private mutating func assertionClaims() -> [String: String] {
        let claims = table.texts("client_assertion_claims")
        for name in claims.keys.sorted() where AssertionKey.ownClaims.contains(name.bytewise) {
            table.report(
                ClientConfigurationKeys.claims,
                "must not contain \(name), which the agent sets itself"
            )
        }
        return claims
    }

    /// Reports keys that `method` requires and those it does not use.
    ///
    /// - Returns: `true` if none is missing.
    private func checkProof(_ method: ClientAuthenticationMethod) -> Bool {
        var used = ClientConfigurationKeys.used(by: method)
        var needed = ClientConfigurationKeys.needed(by: method)
        // Some servers require a certificate besides the secret.
        if table.has(ClientConfigurationKeys.certificate), [.basic, .post, .basicSecret].contains(method) {
            used += ClientConfigurationKeys.used(by: .tls)
            needed = [ClientConfigurationKeys.secrets] + ClientConfigurationKeys.needed(by: .tls)
        }
        for key in written(ClientConfigurationKeys.all) where !used.contains(key) {
            table.report(
                key,
                method == .automatic
                    ? "has no effect without a client key or assertion"
                    : "has no effect with client_authentication = \"\(method.rawValue)\""
            )
        }
        if method == .privateKeyJWT { refuseKeysOfSigners() }
        let missing = needed.filter { written($0).isEmpty }
        for needed in missing {
            table.report(
                "client_authentication",
                "\"\(method.rawValue)\" requires \(needed.joined(separator: " or "))"
            )
        }
        return missing.isEmpty
    }

    /// Reports keys for signing that are set together with an assertion signed elsewhere.
    private func refuseKeysOfSigners() {
        // Contradicting keys were reported already.
        guard written(ClientConfigurationKeys.keys).isEmpty,
            let ready = written(ClientConfigurationKeys.assertions).first
        else {
            return
        }
        for key in written(ClientConfigurationKeys.ofSigners + [ClientConfigurationKeys.certificate])
        where key != ClientConfigurationKeys.audience || ready != ClientConfigurationKeys.requested {
            table.report(key, "has no effect: the assertion of \(ready) is signed elsewhere")
        }
    }

    private func written(_ keys: [String]) -> [String] { keys.filter { table.has($0) } }
}

/// The keys for client authentication, and those that each method requires.
private enum ClientConfigurationKeys {
    static let secrets = [
        "client_secret", "client_secret_file", "client_secret_command", "client_secret_sealed",
    ]
    static let keys = ["client_key_file", "client_key_command"]
    /// The key of an assertion that is requested for a chosen audience.
    static let requested = "client_assertion"
    static let assertions = [requested, "client_assertion_file", "client_assertion_command"]
    static let audience = "client_assertion_audience"
    /// The keys for assertions that the client signs itself.
    static let ofSigners = ["client_key_id", audience, claims]
    static let claims = "client_assertion_claims"
    static let proofs = secrets + keys + assertions
    static let certificate = "client_certificate_file"
    static let all = proofs + [certificate] + ofSigners

    /// Returns lists of keys; `method` requires one key of each list.
    static func needed(by method: ClientAuthenticationMethod) -> [[String]] {
        switch method {
        // A public client may choose how it would send a secret.
        case .automatic, .basic, .post, .basicID: []
        case .privateKeyJWT: [keys + assertions]
        case .clientSecretJWT, .basicSecret: [secrets]
        case .tls: [[certificate], keys]
        }
    }

    /// Returns the keys that have an effect with `method`.
    static func used(by method: ClientAuthenticationMethod) -> [String] {
        switch method {
        case .automatic, .basic, .post, .basicSecret: secrets
        case .basicID: []
        case .privateKeyJWT: keys + assertions + ofSigners + [certificate]
        case .clientSecretJWT: secrets + [audience]
        case .tls: keys + [certificate]
        }
    }
}
