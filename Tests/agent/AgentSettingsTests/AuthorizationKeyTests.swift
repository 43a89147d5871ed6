// SPDX-License-Identifier: MIT

import OAuthClient
import ServerSettings
import Testing

@testable import AgentSettings

/// The keys of a session that go into its authorization request.
struct AuthorizationKeyTests {
    private func read(_ keys: String, kind: String = "oidc") throws -> AuthorizationRequestOptions {
        let table =
            "[session.work]\nkind = \"\(kind)\"\nissuer = \"https://id.example\"\nclient_id = \"cli\"\n"
        let settings = try SettingsReader(home: "/home/me").read(
            Array((table + keys).utf8),
            file: "config.toml"
        )
        return try #require(settings.sessions.first).authorization
    }

    private func complaint(_ keys: String) -> String? {
        do throws(ConfigurationProblems) {
            let text = "[session.work]\nissuer = \"https://id.example\"\nclient_id = \"cli\"\n" + keys
            _ = try SettingsReader(home: "/home/me").read(Array(text.utf8), file: "config.toml")
            return nil
        } catch {
            return error.lines.joined(separator: "\n")
        }
    }

    @Test func `every key is read`() throws {
        let request = try read(
            """
            redirect_uri = "http://localhost:8080/cb"
            prompt = "login"
            login_hint = "alice"
            acr_values = ["a", "b"]
            max_age = "10m"
            authorization_parameters = { hd = "example.com", ui_locales = "" }
            """
        )
        #expect(
            request
                == AuthorizationRequestOptions(
                    redirect: .registered("http://localhost:8080/cb"),
                    prompt: "login",
                    loginHint: "alice",
                    contextClasses: ["a", "b"],
                    maximumAge: .seconds(600),
                    parameters: ["hd": "example.com", "ui_locales": ""]
                )
        )
        #expect(try read("") == AuthorizationRequestOptions())
        #expect(try read("acr_values = \"a b\"").contextClasses == ["a", "b"])
        #expect(try read("max_age = \"0s\"").maximumAge == .zero)
    }

    /// Keys, and the complaint about the last line.
    @Test(arguments: [
        (
            "redirect_port = 1\nredirect_uri = \"http://localhost:1/\"",
            "redirect_port: cannot be combined with"
        ),
        ("redirect_uri = \"/cb\"", "redirect_uri: must be an absolute URI without fragment"),
        ("redirect_uri = \"http://localhost:0/\"", "redirect_uri: must have a port from 1 to 65535"),
        ("max_age = 600", "max_age: must be a duration"),
        ("acr_values = 1", "acr_values: must be an array of"),
        ("authorization_parameters = { hd = 1 }", "authorization_parameters.hd: must be a string"),
        ("authorization_parameters = { state = \"x\" }", "must not set state, which tokenagent sets"),
        ("authorization_parameters = { scope = \"x\" }", "must not set scope, which has the key scopes"),
        ("authorization_parameters = { client_secret = \"x\" }", "which a browser must not see"),
        (
            "authorization_parameters = { response_mode = \"fragment\" }",
            "must not set response_mode to fragment, which browsers do not send"
        ),
    ])
    func `a mistake is one line with its remedy`(keys: String, part: String) throws {
        let line = try #require(complaint(keys))
        #expect(line.contains(part), "\(line)")
        #expect(line.hasPrefix("config.toml:") && !line.contains("\n"))
    }

    @Test(arguments: [
        ("redirect_uri = \"http://localhost:1/\"", "redirect_uri"), ("login_hint = \"a\"", "login_hint"),
        ("acr_values = [\"a\"]", "acr_values"), ("max_age = \"1m\"", "max_age"),
        ("prompt = \"login\"", "prompt"),
        ("authorization_parameters = { hd = \"x\" }", "authorization_parameters"),
    ])
    func `a changed key is named`(line: String, key: String) throws {
        let plain = "[session.work]\nissuer = \"https://id.example\"\nclient_id = \"cli\"\n"
        let reader = SettingsReader(home: "/home/me")
        let before = try reader.read(Array(plain.utf8), file: "config.toml")
        let after = try reader.read(Array((plain + line).utf8), file: "config.toml")
        #expect(after.changes(from: before).map(\.key) == ["session.work.\(key)"])
        #expect(before.changes(from: after).map(\.key).count == 1)
    }
}
