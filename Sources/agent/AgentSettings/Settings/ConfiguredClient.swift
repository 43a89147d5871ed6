// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

/// The configured identity of a session's client, and its authentication.
package struct ConfiguredClient: Equatable, Sendable {
    /// The `client_id`; empty for kinds without clients, and if it is not set.
    package var id: String
    /// Whether the server is asked to register a client at the login.
    var isUnregistered = false
    /// The `client_metadata_url`.
    var metadataURL: String?
    package var secret = ConfiguredSecret.none
    /// The `client_authentication`, where ``ClientAuthenticationMethod/automatic`` has been resolved if
    /// possible.
    package var authentication = ClientAuthenticationMethod.automatic
    /// The key in `client_key_file` or `client_key_command`.
    package var key: SecretSource?
    /// The `client_key_id`.
    package var keyID: String?
    /// The `client_certificate_file`.
    package var certificateFile: String?
    /// The assertion from `client_assertion`, `client_assertion_file` or `client_assertion_command`.
    package var assertion: AssertionSource?
    /// The `client_assertion_audience`.
    var assertionAudience = AssertionAudience.endpoint
    /// The `client_assertion_claims`.
    var assertionClaims: [String: String] = [:]

    /// Returns the client's identity for the OAuth client.
    ///
    /// - Parameters:
    ///   - session: the session of this client.
    ///   - seal: stores a secret from the configuration in the vault.
    /// - Returns: the identity.
    /// - Throws: the error of `seal`.
    func identity<Failure: Error>(
        of session: SessionName,
        sealing seal: (String) throws(Failure) -> SecretID
    ) throws(Failure) -> ClientIdentity {
        ClientIdentity(
            id,
            proof: proof(try sealedSecret(of: session, seal)),
            certificate: [.tls, .privateKeyJWT].contains(authentication) ? nil : certificate,
            introduction: isUnregistered
                ? ClientRegistrationOptions(document: metadataURL, method: secretMethod) : nil
        )
    }

    /// The method by which a client registered at the login sends its secret; methods without a secret were
    /// rejected.
    private var secretMethod: ClientSecretMethod {
        ClientSecretMethod(rawValue: authentication.rawValue) ?? .automatic
    }

    private func sealedSecret<Failure: Error>(
        of session: SessionName,
        _ seal: (String) throws(Failure) -> SecretID
    ) throws(Failure) -> SecretSource? {
        switch secret {
        case .none: nil
        case .literal(let text): .sealed(try seal(text))
        case .file(let path): .file(path)
        case .command(let command): .command(command)
        case .given: .given(to: session)
        }
    }

    /// Returns the client's credentials, or none if a required key is missing, which was reported.
    private func proof(_ secret: SecretSource?) -> ClientProof {
        switch authentication {
        case .automatic: ClientProof(secret: secret)
        case .basic: ClientProof(secret: secret, .basic)
        case .post: ClientProof(secret: secret, .post)
        case .basicID: .basicID
        case .basicSecret: ClientProof(secret: secret, .basicSecret)
        case .clientSecretJWT: secret.map { .secretAssertion($0, assertionAudience) } ?? .none
        case .privateKeyJWT:
            key.map {
                let key = AssertionKey(
                    $0,
                    identifier: keyID,
                    certificate: certificateFile,
                    claims: assertionClaims
                )
                return .keyAssertion(key, assertionAudience)
            }
                ?? assertion.map { .externalAssertion($0, assertionAudience) } ?? .none
        case .tls: certificate.map { .certificate($0.path, key: $0.key) } ?? .none
        }
    }

    private var certificate: HandshakeCertificate? {
        certificateFile.flatMap { file in key.map { HandshakeCertificate(file, key: $0) } }
    }

    /// The files read on each client authentication, with their keys.
    ///
    /// If another program renews a file outside the agent's sandbox, a command of ``commands`` reads it.
    package var files: [(key: String, path: String)] {
        var files: [(key: String, path: String)] = []
        if case .file(let path) = secret { files.append(("client_secret_file", path)) }
        if case .file(let path) = key { files.append(("client_key_file", path)) }
        if case .file(let path) = assertion { files.append(("client_assertion_file", path)) }
        if let certificateFile { files.append(("client_certificate_file", certificateFile)) }
        return files
    }

    /// The commands run on each client authentication.
    package var commands: [[String]] {
        var commands: [[String]] = []
        if case .command(let command) = secret { commands.append(command) }
        if case .command(let command) = key { commands.append(command) }
        if case .command(let command) = assertion { commands.append(command) }
        commands += files.filter { $0.key != "client_secret_file" }.map {
            SecretSource.printing($0.path)
        }
        return commands
    }

    /// The secret, if it is written in the configuration.
    package var literalSecret: String? {
        if case .literal(let text) = secret { text } else { nil }
    }

    /// The client without a secret from the configuration, so that it may stay in memory.
    package var withoutSecret: ConfiguredClient {
        var client = self
        if literalSecret != nil { client.secret = .literal("") }
        return client
    }
}

/// The client secret, or its source.
package enum ConfiguredSecret: Equatable, Sendable {
    case none
    case literal(String)
    case file(String)
    case command([String])
    /// A secret that the user gives to the agent, which keeps it in its store (`client_secret_sealed`).
    case given
}

/// A method of client authentication (`client_authentication`).
package enum ClientAuthenticationMethod: String, CaseIterable, Sendable {
    /// Chosen from what is available: a secret, sent in the way the server lists, or a key.
    case automatic
    case basic
    case post
    case basicID = "basic_id"
    case basicSecret = "basic_secret"
    case privateKeyJWT = "private_key_jwt"
    case clientSecretJWT = "client_secret_jwt"
    case tls
}
