// SPDX-License-Identifier: MIT

import OAuthClient
import TokenCore

/// Who the client of a session is, and how it proves that, as the configuration says it.
package struct ConfiguredClient: Equatable, Sendable {
    /// `client_id`; empty for kinds without clients, and where there is none.
    package var id: String
    /// The server is asked for a client at the login.
    package var isUnregistered = false
    /// `client_metadata_url`.
    package var metadataURL: String?
    package var secret = ConfiguredSecret.none
    /// `client_authentication`, after ``ClientAuthenticationMethod/automatic`` has been decided where it can be.
    package var authentication = ClientAuthenticationMethod.automatic
    /// `client_key_file` or `client_key_command`.
    package var key: SecretSource?
    /// `client_key_id`.
    package var keyID: String?
    /// `client_certificate_file`.
    package var certificateFile: String?
    /// `client_assertion`, `client_assertion_file` or `client_assertion_command`.
    package var assertion: AssertionSource?
    /// `client_assertion_audience`.
    package var assertionAudience = AssertionAudience.endpoint

    /// What the OAuth client needs to know.
    ///
    /// - Parameters:
    ///   - session: whose client it is.
    ///   - seal: puts a secret written in the file into the vault.
    /// - Returns: the client.
    /// - Throws: what `seal` throws.
    func identity<Failure: Error>(
        of session: SessionName,
        sealing seal: (String) throws(Failure) -> SecretID
    ) throws(Failure) -> ClientIdentity {
        ClientIdentity(
            id,
            proof: proof(try sealedSecret(of: session, seal)),
            introduction: isUnregistered
                ? ClientRegistrationOptions(document: metadataURL, method: secretMethod) : nil
        )
    }

    /// How a client that the server registers is to show its secret; ways without one have been objected to.
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

    /// How the client proves itself; what is missing has been reported, and then there is no proof.
    private func proof(_ secret: SecretSource?) -> ClientProof {
        switch authentication {
        case .automatic: ClientProof(secret: secret)
        case .basic: ClientProof(secret: secret, .basic)
        case .post: ClientProof(secret: secret, .post)
        case .clientSecretJWT: secret.map { .secretAssertion($0, assertionAudience) } ?? .none
        case .privateKeyJWT:
            key.map { .keyAssertion(AssertionKey($0, identifier: keyID), assertionAudience) }
                ?? assertion.map { .externalAssertion($0, assertionAudience) } ?? .none
        case .tls:
            certificateFile.flatMap { file in key.map { .certificate(file, key: $0) } } ?? .none
        }
    }

    /// The files that are read whenever the client proves who it is, by their keys.
    ///
    /// Of those that another program renews what lies outside of the agent's reach is read by ``commands``.
    package var files: [(key: String, path: String)] {
        var files: [(key: String, path: String)] = []
        if case .file(let path) = secret { files.append(("client_secret_file", path)) }
        if case .file(let path) = key { files.append(("client_key_file", path)) }
        if case .file(let path) = assertion { files.append(("client_assertion_file", path)) }
        if let certificateFile { files.append(("client_certificate_file", certificateFile)) }
        return files
    }

    /// The commands that are run for the same purpose.
    package var commands: [[String]] {
        var commands: [[String]] = []
        if case .command(let command) = secret { commands.append(command) }
        if case .command(let command) = key { commands.append(command) }
        if case .command(let command) = assertion { commands.append(command) }
        commands += files.filter { $0.key != "client_secret_file" }.map {
            ReloadableFile.command(for: $0.path)
        }
        return commands
    }

    /// The secret, where it is written in the file itself.
    package var literalSecret: String? {
        if case .literal(let text) = secret { text } else { nil }
    }

    /// The client without a secret written in the file, so that it may be kept in memory.
    package var withoutSecret: ConfiguredClient {
        var client = self
        if literalSecret != nil { client.secret = .literal("") }
        return client
    }

    /// The keys that differ from `old`.
    func keys(differingFrom old: ConfiguredClient) -> [String] {
        let differing: [(String, Bool)] = [
            ("client_id", id != old.id), ("client_metadata_url", metadataURL != old.metadataURL),
            ("client_secret", secret != old.secret),
            ("client_authentication", authentication != old.authentication),
            ("client_key", key != old.key), ("client_key_id", keyID != old.keyID),
            ("client_certificate_file", certificateFile != old.certificateFile),
            ("client_assertion", assertion != old.assertion),
            ("client_assertion_audience", assertionAudience != old.assertionAudience),
        ]
        return differing.filter(\.1).map(\.0)
    }
}

/// Where the client secret is written, or how to get it.
package enum ConfiguredSecret: Equatable, Sendable {
    case none
    case literal(String)
    case file(String)
    case command([String])
    /// `client_secret_sealed`: a person gives it to the agent, which keeps it in its store.
    case given
}

/// `client_authentication`: how the client proves who it is.
package enum ClientAuthenticationMethod: String, CaseIterable, Sendable {
    /// By what there is: a secret in the way the server lists, or a key.
    case automatic
    case basic
    case post
    case privateKeyJWT = "private_key_jwt"
    case clientSecretJWT = "client_secret_jwt"
    case tls
}
