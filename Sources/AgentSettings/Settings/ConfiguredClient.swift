// SPDX-License-Identifier: MIT

import OAuthClient
import TokenCore

/// Who the client of a session is, and how it proves that, as the configuration says it.
package struct ConfiguredClient: Equatable, Sendable {
    /// `client_id`; empty for kinds without clients.
    package var id: String
    package var secret = ConfiguredSecret.none
    /// `client_authentication`.
    package var authentication = ClientSecretMethod.automatic

    /// What the OAuth client needs to know.
    ///
    /// - Parameter seal: puts a secret written in the file into the vault.
    /// - Returns: the client.
    /// - Throws: what `seal` throws.
    func identity<Failure: Error>(
        sealing seal: (String) throws(Failure) -> SecretID
    ) throws(Failure) -> ClientIdentity {
        let source: SecretSource?
        switch secret {
        case .none: source = nil
        case .literal(let text): source = .sealed(try seal(text))
        case .file(let path): source = .file(path)
        case .command(let command): source = .command(command)
        }
        return ClientIdentity(id, proof: ClientProof(secret: source, authentication))
    }

    /// The files that are read whenever the client proves who it is, by their keys.
    package var files: [(key: String, path: String)] {
        if case .file(let path) = secret { [("client_secret_file", path)] } else { [] }
    }

    /// The commands that are run for the same purpose.
    package var commands: [[String]] {
        if case .command(let command) = secret { [command] } else { [] }
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
            ("client_id", id != old.id), ("client_secret", secret != old.secret),
            ("client_authentication", authentication != old.authentication),
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
}
