// SPDX-License-Identifier: MIT

import Glibc
import ServerSettings
import TestSupport
import Testing
import TokenCore

@testable import AgentSettings

/// The tables `[[file]]`, from line 5 on.
struct TokenFileSettingsTests {
    private static let session =
        "[session.work]\nkind = \"oidc\"\nissuer = \"https://id.example\"\nclient_id = \"cli\"\n"

    private func file(_ keys: String, session: String = Self.session) -> String {
        session + "[[file]]\n" + keys + "\n"
    }

    @Test func `every key is read`() throws {
        let keys = """
            path = "~/tokens/work"
            session = "work"
            id_token = true
            scopes = ["a", "b"]
            audience = "https://api.example"
            format = "headers-json"
            """
        let work = try #require(SessionName("work"))
        let expected = TokenFileSettings(
            path: "/home/me/tokens/work",
            session: work,
            wantsIDToken: true,
            scopes: ["a", "b"],
            audience: "https://api.example",
            format: .headersJSON
        )
        #expect(try read(file(keys)).files == [expected])
        #expect(try read(file(keys)).tables(naming: work) == ["[[file]] /home/me/tokens/work"])
        let plain = try read(file("path = \"/run/t\"\nsession = \"work\""))
        #expect(plain.files == [TokenFileSettings(path: "/run/t", session: work)])
    }

    @Test(arguments: [
        ("session = \"work\"", "5: file.path: required: path of the file"),
        ("path = \"/run/t\"", "5: file.session: required: session that provides the token"),
        ("path = \"t\"\nsession = \"work\"", "6: file.path: must be an absolute path or begin with ~/"),
        (
            "path = \"/run/\"\nsession = \"work\"",
            "6: file.path: must be the path of a file, not of a directory"
        ),
        (
            "path = \"/run/..\"\nsession = \"work\"",
            "6: file.path: must be the path of a file, not of a directory"
        ),
        ("path = \"/a\\nb\"\nsession = \"work\"", "6: file.path: must not contain control characters"),
        (
            "path = \"/a/.b.new\"\nsession = \"work\"",
            "6: file.path: must not end with /.NAME.new, the path of the next version of NAME"
        ),
        (
            "path = \"/t\"\nsession = \"wrk\"",
            "7: file.session: no session named \"wrk\"; did you mean work?"
        ),
        (
            "path = \"/t\"\nsession = \"work\"\nformat = \"xml\"",
            "8: file.format: \"xml\" is not one of token, bearer, header, headers-json, env, json"
        ),
        (
            "path = \"/t\"\nsession = \"work\"\naudience = \"a b\"",
            "8: file.audience: must be one word of printable ASCII"
        ),
        ("path = \"/t\"\nsession = \"work\"\nmode = \"0644\"", "8: file.mode: unknown key"),
        (
            "path = \"/t\"\nsession = \"work\"\n[[file]]\npath = \"/t\"\nsession = \"work\"",
            "9: file.path: is already used by another [[file]] or [[socket]]"
        ),
        (
            "path = \"/t/a\"\nsession = \"work\"\n[[file]]\npath = \"//t//./a\"\nsession = \"work\"",
            "9: file.path: is already used by another [[file]] or [[socket]]"
        ),
    ])
    func `a mistake is named with its key`(keys: String, message: String) {
        #expect(complaints(file(keys)) == ["config.toml:\(message)"])
    }

    @Test(
        arguments: [
            ("state/../state/keyfile", "is in the agent's state directory"),
            ("link/keyfile", "is in the agent's state directory"),
            ("chain/keyfile", "is in the agent's state directory"),
            ("run/x/../agent.sock", "is the agent's socket"),
            ("other/../token", nil), ("loop/token", nil), ("..", nil),
        ] as [(String, String?)]
    )
    func `nor before the first start has made its directories`(name: String, objection: String?) throws {
        let directory = try TemporaryDirectory()
        symlink(directory.path("state"), directory.path("link"))
        symlink("./link/../state", directory.path("chain"))
        symlink("loop/loop", directory.path("loop"))
        let own = ReservedPaths(
            socket: directory.path("run/agent.sock"),
            stateDirectory: directory.path("state"),
            configuration: directory.path("config.toml")
        )
        #expect(own.objection(toReplacing: directory.path(name)) == objection)
    }

    @Test(
        arguments: [
            ("run/agent.sock", "is the agent's socket"),
            ("run//../run/agent.sock", "is the agent's socket"),
            ("run/agent.sock.lock", "is the lock file of the agent's socket"),
            ("config/config.toml", "is the configuration file"), ("real.toml", "is the configuration file"),
            ("config/sessions.d/work", "is in sessions.d, where each file is a session"),
            ("state/vault/key", "is in the agent's state directory"),
            ("link/key", "is in the agent's state directory"),
            ("state2/token", nil), ("run/token", nil), ("config/token", nil),
        ] as [(String, String?)]
    )
    func `no file takes the place of one of the agent's own`(name: String, objection: String?) throws {
        let directory = try TemporaryDirectory()
        for child in ["run", "config", "state"] { try directory.makeDirectory(child) }
        try directory.write("", to: "real.toml")
        symlink(directory.path("real.toml"), directory.path("config/config.toml"))
        symlink(directory.path("state"), directory.path("link"))
        let own = ReservedPaths(
            socket: directory.path("run/agent.sock"),
            stateDirectory: directory.path("state"),
            configuration: directory.path("config/config.toml")
        )
        let reader = SettingsReader(home: nil, reservedPaths: own)
        func complaints(_ text: String) -> [String] {
            do throws(ConfigurationProblems) {
                _ = try reader.read(Array(text.utf8), file: "c")
                return []
            } catch {
                return error.lines
            }
        }
        let path = "\"\(directory.path(name))\""
        let found = complaints(file("path = \(path)\nsession = \"work\""))
        #expect(found == (objection.map { ["c:6: file.path: \($0)"] } ?? []))
        // A socket replaces nothing: it only cannot be where something else is.
        let inTheWay = name.hasPrefix("run/") || name.hasSuffix(".toml") ? objection : nil
        let socket = Self.session + "[[socket]]\npath = \(path)\nsessions = [\"work\"]\n"
        #expect(complaints(socket) == (inTheWay.map { ["c:6: socket.path: \($0)"] } ?? []))
        let proxy = """
            \(Self.session)[[proxy]]
            name = "p"
            listen = \(path)
            session = "work"
            upstream = "https://a.example"
            """
        #expect(complaints(proxy) == (inTheWay.map { ["c:7: proxy.listen: \($0)"] } ?? []))
    }

    @Test(
        .holds("241"),
        arguments: [
            ("dpop = true\n", "tokens of session \"work\" are bound to a key (dpop) and unusable in a file"),
            (
                "allow = [{ exe = \"/usr/bin/git\" }]\n",
                "session \"work\" has allow rules, which a file cannot enforce"
            ),
        ]
    )
    func `a session that a file cannot serve is refused`(key: String, reason: String) {
        let text = file("path = \"/t\"\nsession = \"work\"", session: Self.session + key)
        #expect(complaints(text) == ["config.toml:8: file.session: \(reason)"])
    }

    @Test func `what changes is named by its path`() throws {
        let old = try read(file("path = \"/a\"\nsession = \"work\""))
        let new = try read(file("path = \"/b\"\nsession = \"work\""))
        #expect(
            new.changes(from: old) == [
                ConfigurationChange(.removed, "file /a"), ConfigurationChange(.added, "file /b"),
            ]
        )
        let other = try read(file("path = \"/a\"\nsession = \"work\"\nformat = \"env\""))
        #expect(other.changes(from: old) == [ConfigurationChange(.changed, "file /a")])
    }
}
