// SPDX-License-Identifier: MIT

/// The keys of kind `github_app`.
extension TableReader {
    /// Reads the app and its installation, or returns `nil` with the reasons in the problem list.
    mutating func gitHubApp(home: String?) -> GitHubApp? {
        let id = numberOrName("app_id", "number or client ID of the app")
        let place = numberOrName("installation", "number of the installation, or its account")
        let key = appKey(home: home)
        let repositories = strings("repositories") ?? []
        var permissions = table("permissions")
        let levels = permissions?.texts() ?? [:]
        let address = baseAddress("api_url") ?? GitHubApp.usualAPI
        guard let id, let place, let key else { return nil }
        return GitHubApp(
            appID: id,
            key: key,
            installation: Int64(place).map { .id($0) } ?? .account(place),
            repositories: repositories,
            permissions: levels,
            apiURL: address
        )
    }

    private mutating func appKey(home: String?) -> SecretSource? {
        let file = path("key_file", home: home)
        let words = command("key_command")
        guard has("key_file") != has("key_command") else {
            report(
                "key_file",
                has("key_file")
                    ? "mutually exclusive: key_file, key_command"
                    : "required: private key of the app, as downloaded from GitHub"
            )
            return nil
        }
        return words.map { .command($0) } ?? file.map { .file($0) }
    }

    /// Reads a number above 0 or a name, which the table requires.
    private mutating func numberOrName(_ key: String, _ purpose: String) -> String? {
        if !has(key) { report(key, "required: \(purpose)") }
        guard case .integer? = value(key)?.content else { return string(key) }
        return integer(key, in: 1...Int.max).map(String.init)
    }
}
