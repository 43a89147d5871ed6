// SPDX-License-Identifier: MIT

import OAuthClient
import ServerSettings
import Testing
import TokenCore

@testable import AgentSettings

/// Sessions whose tokens come from something else than a login.
struct DerivedSessionTests {
    @Test func `a command needs nothing but its words`() throws {
        let text = """
            [session.az]
            kind = "command"
            command = ["az", "account", "get-access-token"]
            login_remedy = "az login"
            expires_in = "30m"
            hosts = ["management.azure.com"]
            """
        let session = try #require(try read(text).sessions.first)
        let source = CommandSource(
            command: ["az", "account", "get-access-token"],
            loginRemedy: "az login",
            assumedLifetime: .seconds(1_800)
        )
        #expect(session.server == .command(source))
        #expect(session.policy.startsByItself && session.policy.tokensOutliveLogin)
        #expect(DerivationGraph([session]).loginSubstitute(for: session) == .run("az login"))
        #expect(session.commands == [source.command])
    }

    @Test func `an app of GitHub needs its number, its key and its place`() throws {
        let text = """
            [session.ci]
            kind = "github_app"
            app_id = 12345
            key_file = "/etc/app.pem"
            installation = "acme"
            repositories = ["web"]
            permissions = { contents = "read" }
            api_url = "https://github.example.com/api/v3/"
            """
        let session = try #require(try read(text).sessions.first)
        let app = GitHubApp(
            appID: "12345",
            key: .file("/etc/app.pem"),
            installation: .account("acme"),
            repositories: ["web"],
            permissions: ["contents": "read"],
            apiURL: "https://github.example.com/api/v3"
        )
        #expect(session.server == .gitHubApp(app))
        #expect(session.policy.startsByItself && session.policy.tokensOutliveLogin)
        #expect(session.files.map(\.path) == ["/etc/app.pem"])
        #expect(session.commands == [["cat", "--", "/etc/app.pem"]])
        #expect(session.fingerprint.contains("contents=read"))
    }

    @Test(arguments: [
        ("", "app_id: required"), ("app_id = 0", "app_id: must be 1 to"),
        ("app_id = 1\ninstallation = 2", "key_file: required"),
        ("app_id = 1\ninstallation = 2\nkey_file = \"/k\"\nkey_command = [\"k\"]", "mutually exclusive"),
        (
            "app_id = 1\ninstallation = 2\nkey_file = \"/k\"\nrepositories = [\"acme/web\"]",
            "not contain the owner"
        ),
        (
            "app_id = 1\ninstallation = 2\nkey_file = \"/k\"\npermissions = { contents = \"all\" }",
            "contents must be"
        ),
        ("app_id = 1\ninstallation = 2\nkey_file = \"/k\"\nflow = \"device\"", "flow"),
        ("app_id = 1\ninstallation = 2\nkey_file = \"/k\"\nclient_secret = \"x\"", "client_secret"),
    ])
    func `an app of GitHub that cannot work is explained`(lines: String, words: String) {
        let told = complaints("[session.ci]\nkind = \"github_app\"\n\(lines)\n")
        #expect(told.contains { $0.contains(words) }, "\(told)")
    }

    @Test(arguments: ["flow = \"browser\"", "client_id = \"x\"", "ca_file = \"/x\"", "reauth = [\"prompt\"]"])
    func `a command has no server's keys`(key: String) {
        let told = complaints("[session.az]\nkind = \"command\"\ncommand = [\"az\"]\n\(key)\n")
        #expect(told.count == 1, "\(told)")
    }
}
