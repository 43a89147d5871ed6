// SPDX-License-Identifier: MIT

import OAuthClient
import Text
import TokenCore

/// Reads the keys that say who the client is and how it proves that.
struct ClientReader: SessionPartReading {
    private(set) var table: TableReader
    private let home: String?

    init(_ table: TableReader, home: String?) {
        self.table = table
        self.home = home
    }

    /// The keys that are written in `table` of those by which a client proves itself.
    static func writtenProofs(in table: TableReader) -> [String] {
        ClientKeys.proofs.filter { table.has($0) }
    }

    /// The client; `nil` where one is missing, or what it is to prove itself by.
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
        // An assertion names whoever asks (RFC 7523 §2.1).
        if flow == .jwtBearer, !table.has("client_id") { return withoutClient() }
        return table.required("client_id", "the name of the client registered at the authorization server")
    }

    /// A server that publishes its metadata may register clients; there is nothing then that could prove to be ours.
    private mutating func unregistered(_ flow: LoginFlow) -> String? {
        guard withoutClient() != nil else { return nil }
        if flow == .import {
            table.report("client_id", "is missing: a refresh token is of the client it was given to")
            return nil
        }
        if flow == .tokenExchange {
            table.report("client_id", "is missing: an exchange is made by a registered client")
            return nil
        }
        return ""
    }

    /// Nothing, where no client is named; `nil`: something proves that there is one.
    private mutating func withoutClient() -> String? {
        _ = table.string("client_id")
        guard let proof = Self.writtenProofs(in: table).first else { return "" }
        table.report("client_id", "is missing: \(proof) is of a registered client")
        return nil
    }

    /// `client_metadata_url`, for a session whose server is to know the client by it.
    private mutating func metadataURL(_ flow: LoginFlow) -> String? {
        let address = table.url("client_metadata_url")
        if address != nil, table.has("client_id") {
            table.report("client_metadata_url", "must not stand beside client_id, which always wins")
        } else if address != nil, flow == .jwtBearer {
            table.report("client_metadata_url", "is never used: write it as client_id")
        }
        return address?.description
    }

    private mutating func clientSecret() -> ConfiguredSecret {
        let literal = table.string("client_secret")
        let file = table.path("client_secret_file", home: home)
        let command = table.command("client_secret_command")
        let isSealed = table.boolean("client_secret_sealed") ?? false
        table.permitsOne(of: ClientKeys.secrets)
        if let command { return .command(command) }
        if let file { return .file(file) }
        if isSealed { return .given }
        return literal.map { .literal($0) } ?? .none
    }

    /// Reads how the client proves itself.
    ///
    /// - Returns: whether it has what it needs for that.
    private mutating func readProof(into client: inout ConfiguredClient) -> Bool {
        let word = table.word("client_authentication", ClientAuthenticationMethod.self) ?? .automatic
        client.key = clientKey()
        client.keyID = table.string("client_key_id")
        client.certificateFile = table.path("client_certificate_file", home: home)
        client.assertion = externalAssertion()
        client.assertionAudience = assertionAudience()
        client.authentication = word == .automatic ? decided : word
        return checkProof(client.authentication)
    }

    /// How the client proves itself where only the key says it.
    private var decided: ClientAuthenticationMethod {
        if table.has(ClientKeys.certificate) { return .tls }
        return written(ClientKeys.keys + ClientKeys.assertions).isEmpty ? .automatic : .privateKeyJWT
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
        table.permitsOne(of: ClientKeys.keys + ClientKeys.assertions)
        if let word, word.bytewise != "github-actions" {
            table.report("client_assertion", "\"\(word)\" is not \"github-actions\"")
        }
        return command.map { .command($0) } ?? file.map { .file($0) } ?? word.map { _ in .gitHubActions }
    }

    /// `client_assertion_audience`.
    private mutating func assertionAudience() -> AssertionAudience {
        switch table.string("client_assertion_audience") {
        case nil, "endpoint": return .endpoint
        case "issuer":
            if !table.has("issuer") {
                table.report(
                    "client_assertion_audience",
                    "is \"issuer\", which needs the issuer of the server"
                )
            }
            return .issuer
        case let text?: return .other(text)
        }
    }

    /// Objects to keys that `method` lacks, and to those it has no use for.
    ///
    /// - Returns: whether it lacks none.
    private func checkProof(_ method: ClientAuthenticationMethod) -> Bool {
        let used = ClientKeys.used(by: method)
        for key in written(ClientKeys.all) where !used.contains(key) {
            table.report(
                key,
                method == .automatic
                    ? "is never used: it is for a client with a key or assertions"
                    : "is never used: client_authentication is \"\(method.rawValue)\""
            )
        }
        if method == .privateKeyJWT { refuseKeysOfSigners() }
        let missing = ClientKeys.needed(by: method).filter { written($0).isEmpty }
        for needed in missing {
            table.report(
                "client_authentication",
                "\"\(method.rawValue)\" needs \(needed.joined(separator: " or "))"
            )
        }
        return missing.isEmpty
    }

    /// Objects to keys about signing beside an assertion that somebody else has signed.
    private func refuseKeysOfSigners() {
        // Several that contradict each other have been objected to.
        guard written(ClientKeys.keys).isEmpty, let ready = written(ClientKeys.assertions).first else {
            return
        }
        for key in written(ClientKeys.ofSigners)
        where key != ClientKeys.audience || ready != ClientKeys.requested {
            table.report(key, "is never used: what \(ready) gives is signed elsewhere")
        }
    }

    private func written(_ keys: [String]) -> [String] { keys.filter { table.has($0) } }
}

/// The keys by which a client proves itself, and what each way needs of them.
private enum ClientKeys {
    static let secrets = [
        "client_secret", "client_secret_file", "client_secret_command", "client_secret_sealed",
    ]
    static let keys = ["client_key_file", "client_key_command"]
    /// An assertion that is asked for, with the audience that is wanted.
    static let requested = "client_assertion"
    static let assertions = [requested, "client_assertion_file", "client_assertion_command"]
    static let audience = "client_assertion_audience"
    /// What a client says of assertions that it signs itself.
    static let ofSigners = ["client_key_id", audience]
    static let proofs = secrets + keys + assertions
    static let certificate = "client_certificate_file"
    static let all = proofs + [certificate] + ofSigners

    /// Of each of these lists `method` needs one key.
    static func needed(by method: ClientAuthenticationMethod) -> [[String]] {
        switch method {
        // A public client may say how it would show a secret.
        case .automatic, .basic, .post: []
        case .privateKeyJWT: [keys + assertions]
        case .clientSecretJWT: [secrets]
        case .tls: [[certificate], keys]
        }
    }

    /// The keys that mean something with `method`.
    static func used(by method: ClientAuthenticationMethod) -> [String] {
        switch method {
        case .automatic, .basic, .post: secrets
        case .privateKeyJWT: keys + assertions + ofSigners
        case .clientSecretJWT: secrets + [audience]
        case .tls: keys + [certificate]
        }
    }
}
