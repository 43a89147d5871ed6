// SPDX-License-Identifier: MIT

import OAuthClient
import TokenCore

/// The keys that say who the client is and how it proves that.
extension SessionReader {
    /// The client; `nil` where one is missing.
    mutating func client(_ kind: ServerKind) -> ConfiguredClient? {
        let id = clientID(kind)
        let secret = kind.isServer ? clientSecret() : .none
        let authentication =
            kind.isStandard ? table.word("client_authentication", ClientSecretMethod.self) : nil
        return id.map {
            ConfiguredClient(id: $0, secret: secret, authentication: authentication ?? .automatic)
        }
    }

    private mutating func clientID(_ kind: ServerKind) -> String? {
        guard kind.hasClients else { return "" }
        return table.required("client_id", "the name of the client registered at the authorization server")
    }

    /// The keys for a client secret that are written.
    var writtenSecrets: [String] {
        ["client_secret", "client_secret_file", "client_secret_command"].filter { table.has($0) }
    }

    private mutating func clientSecret() -> ConfiguredSecret {
        let literal = table.string("client_secret")
        let file = table.path("client_secret_file", home: home)
        let command = table.command("client_secret_command")
        let written = writtenSecrets
        if written.count > 1 {
            table.report(written[1], "only one of \(written.joined(separator: ", ")) may be given")
        }
        if let command { return .command(command) }
        if let file { return .file(file) }
        return literal.map { .literal($0) } ?? .none
    }
}
