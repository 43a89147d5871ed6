// SPDX-License-Identifier: MIT

import AgentProtocol
import ServerSettings
import TestSupport
import Testing
import TokenCore

@testable import AgentSettings

/// `[[proxy]]` and `[[endpoint]]`.
struct ProxyListenerSettingsTests {
    private static let session = """
        [session.work]
        kind = "oidc"
        issuer = "https://id.example"
        client_id = "cli"
        scopes = ["a", "b"]

        """

    private static let role = """
        [session.role]
        kind = "aws_role"
        from = "work"
        role_arn = "arn:aws:iam::123456789012:role/deploy"
        region = "eu-west-1"

        """

    private static func proxy(_ keys: [String: String]) -> String {
        var all = [
            "name": "\"api\"", "listen": "\"127.0.0.1:8080\"", "upstream": "\"https://api.example.com\"",
            "session": "\"work\"",
        ]
        for (key, value) in keys { all[key] = value.isEmpty ? nil : value }
        return "[[proxy]]\n" + all.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)\n" }.joined()
    }

    @Test func `a table becomes what the program that listens is handed`() throws {
        let keys = [
            "paths": "[\"/v1/*\", \"/health\"]", "methods": "[\"GET\"]", "scopes": "[\"a\"]",
            "audience": "\"x\"",
        ]
        let settings = try read(Self.session + Self.proxy(keys))
        let listener = try #require(settings.listeners.first)
        #expect(
            listener.name == "api" && listener.title == "[[proxy]] api" && listener.digest.utf8.count == 64
        )
        #expect(listener.message.paths == ["/v1/*", "/health"] && listener.message.methods == ["GET"])
        #expect(settings.tables(naming: try #require(SessionName("work"))) == ["[[proxy]] api"])
        let other = try #require(
            try read(Self.session + Self.proxy(keys.merging(["paths": ""]) { $1 })).listeners.first
        )
        #expect(other.digest != listener.digest)
    }

    @Test(
        arguments: [
            (["name": ""], "proxy.name: required"), (["name": "\"a b\""], "proxy.name: must be 1 to 64"),
            (["listen": ""], "proxy.listen: required"),
            (["listen": "\"0.0.0.0:80\""], "other machines are not served"),
            (["listen": "\"localhost:80\""], "proxy.listen: must be"),
            (["listen": "\"127.0.0.1\""], "proxy.listen: must be"),
            (["listen": "\"run/x.sock\""], "proxy.listen: must be"),
            (["upstream": ""], "proxy.upstream: required"),
            (["upstream": "\"http://api.example.com\""], "proxy.upstream: must begin with https://"),
            (["upstream": "\"https://api.example.com?x\""], "proxy.upstream: must not contain a query"),
            (["upstream": "\"https://u@api.example.com\""], "proxy.upstream: must not contain a user"),
            (
                ["upstream": "\"https://api.example.com/a/../b\""],
                "proxy.upstream: must not contain the segments"
            ),
            (["session": "\"wor\""], "no session named \"wor\"; did you mean work?"),
            (["session": ""], "proxy.session: required"),
            (["paths": "[\"v1\"]"], "proxy.paths: \"v1\" is not a path"),
            (["paths": "[\"/a*b\"]"], "proxy.paths: "),
            (["paths": "[\"/../x\"]"], "proxy.paths: "), (["paths": "[\"/%2e\"]"], "proxy.paths: "),
            (["paths": "[]"], "proxy.paths: must not be empty"),
            (["methods": "[\"get\"]"], "proxy.methods: \"get\""),
            (["methods": "[\"CONNECT\"]"], "proxy.methods: "),
            (["methods": "[]"], "proxy.methods: must not be empty"),
            (["pins": "[\"sha256/x\"]"], "proxy.pins: \"sha256/x\" is not a pin"),
            (["path": "\"/x\""], "proxy.path: unknown key"),
            (["scopes": "[\"a b\"]"], "proxy.scopes: \"a b\" is not a valid scope"),
        ] as [([String: String], String)]
    )
    func `a mistake names its key`(keys: [String: String], message: String) {
        let found = complaints(Self.session + Self.proxy(keys))
        #expect(found.contains { $0.contains(message) }, "\(found)")
    }

    @Test(arguments: [
        ("hosts = [\"api.example.com\"]", true), ("hosts = [\"*.example.com\"]", true),
        ("hosts = [\"git.example.com\"]", false),
        ("hosts = [\"api.example.com:8443\"]", false), ("hosts = [\"api.example.com:443\"]", true),
    ])
    func `the server is among the hosts that the tokens are for`(hosts: String, isGood: Bool) {
        #expect(complaints(Self.session + hosts + "\n" + Self.proxy([:])).isEmpty == isGood)
    }

    @Test(arguments: [
        (
            "allow = [{ exe = \"/usr/bin/git\" }]",
            "(set: allow in [session.work] to include { proxy = \"api\" })"
        ),
        ("allow = [{ proxy = \"other\" }]", "(set: allow in [session.work] to include { proxy = \"api\" })"),
        (
            "allow = [{ proxy = \"api\" }, { proxy = \"apj\" }]",
            "no [[proxy]] or [[endpoint]] named \"apj\"; did you mean api?"
        ),
    ])
    func `rules of the session have to fit the table`(rule: String, message: String) {
        let found = complaints(Self.session + rule + "\n" + Self.proxy([:]))
        #expect(found.count == 1 && found[0].contains(message), "\(found)")
    }

    @Test func `a session may be for one listener alone`() throws {
        let settings = try read(Self.session + "allow = [{ proxy = \"api\" }]\n" + Self.proxy([:]))
        #expect(settings.sessions[0].rules == [AllowRule(listener: "api")])
    }

    @Test func `two tables cannot have one name or one place`() {
        let second = Self.proxy(["listen": "\"127.0.0.1:8081\""])
        let third = Self.proxy(["name": "\"other\""])
        #expect(complaints(Self.session + Self.proxy([:]) + second) != [])
        #expect(complaints(Self.session + Self.proxy([:]) + third) != [])
        let free = ["a", "b"].map { Self.proxy(["name": "\"\($0)\"", "listen": "\"127.0.0.1:0\""]) }.joined()
        #expect(complaints(Self.session + free) == [])
    }

    @Test(
        .holds("233"),
        arguments: [
            ("kind = \"gce-metadata\"\nsession = \"work\"", "endpoint.no_secret: must be true"),
            (
                "kind = \"aws-container\"\nsession = \"work\"",
                "endpoint.session: session \"work\" is not of kind \"aws_role\""
            ),
            ("kind = \"azure-msi\"\nsession = \"role\"", "endpoint.session: session \"role\" has no token"),
            ("kind = \"azure-msi\"\nsession = \"work\"", "endpoint.audiences: required"),
            ("kind = \"proxy\"\nsession = \"work\"", "endpoint.kind: must be"),
            ("session = \"work\"", "endpoint.kind: required"),
            (
                "kind = \"aws-container\"\nsession = \"role\"\nno_secret = true",
                "endpoint.no_secret: must be false"
            ),
            (
                "kind = \"azure-msi\"\nsession = \"work\"\nlisten = \"/run/x\"",
                "endpoint.listen: must be 127.0.0.1:PORT"
            ),
        ]
    )
    func `an endpoint is of a kind that fits its session`(keys: String, message: String) {
        let place = keys.contains("listen") ? "" : "listen = \"127.0.0.1:0\"\n"
        let found = complaints(Self.session + Self.role + "[[endpoint]]\nname = \"e\"\n\(place)\(keys)\n")
        #expect(found.contains { $0.contains(message) }, "\(found)")
    }

    @Test func `an endpoint is told what the session's tokens are for`() throws {
        let table =
            "[[endpoint]]\nname = \"e\"\nkind = \"azure-msi\"\nlisten = \"[::1]:0\"\nsession = \"work\"\naudiences = [\"x\"]\n"
        let message = try #require(try read(Self.session + table).listeners.first).message
        #expect(
            message.sessionScopes == ["a", "b"] && message.audiences == ["x"]
                && message.kind == .azureIdentity
        )
    }

    @Test func `the keys of a command line's proxy are checked alike, its session is the agent's`() throws {
        let reader = SettingsReader(home: nil)
        let keys = "name = \"work\"\nsession = \"work\"\nlisten = \"127.0.0.1:0\"\n"
        let made = try reader.proxy(keys + "upstream = \"https://a.example\"\n")
        #expect(made.message.upstream == "https://a.example")
        #expect(throws: ConfigurationProblems.self) {
            try reader.proxy(keys + "upstream = \"ftp://a\"\n")
        }
    }

    @Test func `a reload names tables that came and went`() throws {
        let before = try read(Self.session)
        let after = try read(Self.session + Self.proxy([:]))
        #expect(after.changes(from: before) == [ConfigurationChange(.added, "proxy api")])
        #expect(before.changes(from: after) == [ConfigurationChange(.removed, "proxy api")])
    }
}
