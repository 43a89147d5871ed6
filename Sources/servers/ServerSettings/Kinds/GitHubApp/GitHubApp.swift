// SPDX-License-Identifier: MIT

import Text

/// The configuration of an installation of a GitHub App.
package struct GitHubApp: Equatable, Sendable {
    /// The installation of the app.
    package enum Installation: Equatable, Sendable {
        case id(Int64)
        /// The name of the user or organization.
        case account(String)
    }

    /// The app's number or its client ID.
    package var appID: String
    /// The app's private RSA key.
    package var key: SecretSource
    package var installation: Installation
    /// The names of the repositories, without the owner, or empty for all of the installation.
    package var repositories: [String]
    /// The levels `read`, `write` or `admin` by permission, or empty for all of the installation.
    package var permissions: [String: String]
    /// The API URL of GitHub or of a self-hosted server (`https://HOST/api/v3`), without a slash at the end.
    package var apiURL: String

    /// The API URL of GitHub.
    package static let usualAPI = "https://api.github.com"
    /// The maximum number of repositories of one token.
    static let maximumRepositories = 500

    package init(
        appID: String,
        key: SecretSource,
        installation: Installation,
        repositories: [String] = [],
        permissions: [String: String] = [:],
        apiURL: String = GitHubApp.usualAPI
    ) {
        self.appID = appID
        self.key = key
        self.installation = installation
        self.repositories = repositories
        self.permissions = permissions
        self.apiURL = apiURL
    }
}

extension GitHubApp: ServerKindSettings {
    package var identity: AuthorizationServerIdentity {
        AuthorizationServerIdentity(address: apiURL)
    }

    package var purpose: [String]? {
        let place =
            switch installation {
            case .id(let number): String(number)
            case .account(let name): name
            }
        return [appID, place] + repositories.sorted() + permissions.map { "\($0.key)=\($0.value)" }.sorted()
    }

    package var problems: [ServerProfileError] {
        var problems: [ServerProfileError] = []
        if repositories.count > GitHubApp.maximumRepositories {
            problems.append(
                ServerProfileError("repositories", "must be at most \(GitHubApp.maximumRepositories)")
            )
        }
        if let name = repositories.first(where: { $0.utf8.contains(UInt8(ascii: "/")) }) {
            let message = "\"\(name)\" must not contain the owner"
            problems.append(ServerProfileError("repositories", message))
        }
        let levels: Set<ByteText> = ["read", "write", "admin"]
        let wrong = permissions.filter { !levels.contains($0.value.bytewise) }.keys.min()
        if let wrong {
            problems.append(
                ServerProfileError("permissions", "\(wrong) must be \"read\", \"write\" or \"admin\"")
            )
        }
        return problems
    }

    package var secretFiles: [(key: String, path: String)] {
        if case .file(let path) = key { [("key_file", path)] } else { [] }
    }

    package var commands: [[String]] {
        if case .command(let command) = key { return [command] }
        return secretFiles.map { SecretSource.printing($0.path) }
    }

    package var secretMembers: [String] { ["token"] }
}
