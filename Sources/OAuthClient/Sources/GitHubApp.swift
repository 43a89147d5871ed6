// SPDX-License-Identifier: MIT

import Text

/// An installation of a GitHub App, as the configuration names it.
package struct GitHubApp: Equatable, Sendable {
    /// Where the app is installed.
    package enum Installation: Equatable, Sendable {
        case id(Int64)
        /// The name of the person or organization.
        case account(String)
    }

    /// The app's number, or its client ID.
    package var appID: String
    /// The app's private key, RSA.
    package var key: SecretSource
    package var installation: Installation
    /// Names, without the owner; empty: all that the installation has.
    package var repositories: [String]
    /// `read`, `write` or `admin` by the names of permissions; empty: all that the installation has.
    package var permissions: [String: String]
    /// Of GitHub, or of a server of one's own (`https://HOST/api/v3`); without a slash at the end.
    package var apiURL: String

    /// GitHub's own.
    package static let usualAPI = "https://api.github.com"
    /// As many repositories as one token can be for.
    static let mostRepositories = 500

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

    /// What its tokens are for, a word each.
    package var origin: [String] {
        let place =
            switch installation {
            case .id(let number): String(number)
            case .account(let name): name
            }
        return [appID, place] + repositories.sorted() + permissions.map { "\($0.key)=\($0.value)" }.sorted()
    }

    var problems: [ServerProfileError] {
        var problems: [ServerProfileError] = []
        if repositories.count > GitHubApp.mostRepositories {
            problems.append(
                ServerProfileError("repositories", "must be at most \(GitHubApp.mostRepositories)")
            )
        }
        if let name = repositories.first(where: { $0.utf8.contains(UInt8(ascii: "/")) }) {
            let message = "\"\(name)\" must be without the owner, which installation says"
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
}
