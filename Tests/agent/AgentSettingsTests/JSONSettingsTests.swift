// SPDX-License-Identifier: MIT

import OAuthClient
import ServerSettings
import Testing
import Text

@testable import AgentSettings

/// Sessions of kind `json`, as they are written.
struct JSONSettingsTests {
    private func settings(_ keys: String) throws(ConfigurationProblems) -> Settings {
        let text = "[session.phone]\nkind = \"json\"\n" + keys
        return try SettingsReader(home: "/home/me").read(Array(text.utf8), file: "config.toml")
    }

    private func backEnd(_ keys: String) throws -> JSONBackEnd {
        guard case .json(let backEnd) = try #require(settings(keys).sessions.first).server else {
            Issue.record("another kind")
            return JSONBackEnd(loginURL: nil, refreshURL: "", logoutURL: nil)
        }
        return backEnd
    }

    /// Returns the messages about `keys`, which begin on line 4 of a session that is complete without them.
    private func complaints(
        _ keys: String,
        _ rest: String = "refresh_url = \"https://api.example/r\"\n"
    ) -> [String] {
        do throws(ConfigurationProblems) {
            _ = try settings(rest + keys)
            return []
        } catch {
            return error.lines
        }
    }

    // MARK: Addresses

    @Test(arguments: [
        ("signaling", "https://api.example", "/auth/login", "/auth/refresh", "/auth/logout"),
        ("ecall", "https://api.example/v1/", "/app/api/login", "/app/api/refresh-token", "/app/api/logout"),
    ])
    func `a preset has the paths`(
        preset: String,
        base: String,
        login: String,
        refresh: String,
        logout: String
    ) throws {
        let backEnd = try backEnd("preset = \"\(preset)\"\nbase_url = \"\(base)\"\n")
        let start = base.hasSuffix("/") ? String(base.dropLast()) : base
        #expect(backEnd.loginURL == start + login)
        #expect(backEnd.refreshURL == start + refresh)
        #expect(backEnd.logoutURL == start + logout)
    }

    @Test(arguments: [
        ("", LifetimeUnit?.none), ("expires_in_unit = \"s\"", .seconds),
        ("expires_in_unit = \"ms\"", .milliseconds),
    ])
    func `the unit of lifetimes is the configuration's, otherwise the preset's`(
        key: String,
        unit: LifetimeUnit?
    ) throws {
        for preset in ["signaling", "ecall"] {
            let address = "preset = \"\(preset)\"\nbase_url = \"https://api.example\"\n"
            let usual = try backEnd(address).rules.responses.lifetimeUnit
            #expect(try backEnd(address + key).rules.responses.lifetimeUnit == unit ?? usual)
        }
    }

    @Test func `an address by hand counts before that of the preset`() throws {
        let backEnd = try backEnd(
            """
            preset = "signaling"
            base_url = "https://api.example"
            login_url = "https://login.example/in"
            """
        )
        #expect(backEnd.loginURL == "https://login.example/in")
        #expect(backEnd.refreshURL == "https://api.example/auth/refresh")
    }

    @Test func `an own address for refreshes needs no other`() throws {
        let own = try backEnd("preset = \"signaling\"\nrefresh_url = \"https://api.example/r\"\n")
        #expect(own.refreshURL == "https://api.example/r" && own.loginURL == nil && own.logoutURL == nil)
        let all = ["login", "refresh", "logout"].map { "\($0)_url = \"https://api.example/\($0)\"\n" }
            .joined()
        let both = try backEnd("preset = \"ecall\"\nbase_url = \"https://other.example\"\n" + all)
        #expect(both.logoutURL == "https://api.example/logout")
    }

    private static let mistakesInAddresses: [(keys: String, complaint: String)] = [
        (
            "base_url = \"https://api.example\"",
            "1: session.phone.refresh_url: required: URL for refreshes, or base_url and preset"
        ),
        (
            "base_url = \"https://api.example\"\nrefresh_url = \"https://api.example/r\"",
            "3: session.phone.base_url: has no effect without preset"
        ),
        (
            "base_url = \"https://api.example?x\"\npreset = \"ecall\"",
            "3: session.phone.base_url: must not contain a query (?): paths are added to it"
        ),
        (
            "base_url = \"http://api.example\"\npreset = \"ecall\"",
            "3: session.phone.base_url: must begin with https:// (plain http is for this machine only)"
        ),
        (
            "preset = \"ecall\"",
            "1: session.phone.base_url: required: the address before the paths of the preset"
        ),
        (
            "base_url = \"https://api.example\"\npreset = \"ecal\"",
            "4: session.phone.preset: \"ecal\" is not one of signaling, ecall; did you mean ecall?"
        ),
    ]

    @Test(arguments: mistakesInAddresses)
    func `without an address there is one complaint`(keys: String, complaint: String) {
        #expect(complaints(keys, "") == ["config.toml:\(complaint)"])
    }

    // MARK: Places

    @Test(arguments: [
        ("\"data\"", ["data"]), ("\"result.session\"", ["result", "session"]),
        ("[\"api.v1\", \"data\"]", ["api.v1", "data"]),
    ])
    func `an envelope is a place`(written: String, steps: [String]) throws {
        let keys = "refresh_url = \"https://api.example/r\"\nenvelope = \(written)\nerror_code = \(written)\n"
        let rules = try backEnd(keys).rules
        #expect(rules.responses.envelope == JSONPath(steps))
        #expect(rules.responses.errorCode == JSONPath(steps))
        #expect(
            try settings(keys).sessions.first?.server.settings.resourceErrors.paths == rules.responses.paths
        )
    }

    @Test(arguments: ["\"\"", "\"a..b\"", "[]", "[\"a\", 1]", "3", "\"a.b.c.d.e.f.g.h.i\"", "{ a = 1 }"])
    func `what is no place is told with an example`(written: String) {
        let words = "must be at most 8 names joined by dots, such as "
        let rest = ", or an array of names"
        #expect(
            complaints("envelope = \(written)\nerror_code = \(written)") == [
                "config.toml:4: session.phone.envelope: \(words)\"data\"\(rest)",
                "config.toml:5: session.phone.error_code: \(words)\"error.code\"\(rest)",
            ]
        )
    }

    // MARK: Code

    @Test func `a code step is an address, and members that go on`() throws {
        let backEnd = try backEnd(
            """
            login_url = "https://api.example/l"
            refresh_url = "https://api.example/r"
            code_url = "https://api.example/c"
            carry = ["attemptId"]
            fields = { code = "otp" }
            """
        )
        #expect(
            backEnd.codeStep == CodeDeliveryStep(url: "https://api.example/c", carriedMembers: ["attemptId"])
        )
        #expect(backEnd.rules.credentials.code == "otp")
    }

    private static let beside = """
        login_url = "https://api.example/l"
        code_url = "https://api.example/c"

        """

    private static let mistakesBesideCode: [(keys: String, complaint: String)] = [
        ("carry = [\"x\", \"x\"]", "6: session.phone.carry: must not contain a name twice"),
        (
            "carry = [\"code\"]",
            "6: session.phone.carry: must not contain code, which is always sent with the code"
        ),
        (
            "carry = [\"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\"]",
            "6: session.phone.carry: must not contain more than 8 names"
        ),
        (
            "fields = { password = \"code\" }",
            "6: session.phone.fields: must be names that differ from each other"
        ),
        (
            "reauth = [\"command\"]\nreauth_command = [\"x\"]",
            "7: session.phone.reauth_command: cannot be combined with code_url: only a user gets the code"
        ),
    ]

    @Test(arguments: mistakesBesideCode)
    func `what does not go with a code is told`(keys: String, complaint: String) {
        #expect(complaints(Self.beside + keys) == ["config.toml:\(complaint)"])
    }

    @Test func `a code needs an address to go to, and carried members a code`() {
        #expect(
            complaints("code_url = \"https://api.example/c\"") == [
                "config.toml:1: session.phone.login_url: required: the URL for the code that code_url sends"
            ]
        )
        #expect(
            complaints("carry = [\"x\"]") == [
                "config.toml:4: session.phone.carry: has no effect without code_url"
            ]
        )
    }

    // MARK: Constants

    @Test func `members and headers are read, and secrets by where they are`() throws {
        let session = try #require(
            settings(
                """
                refresh_url = "https://api.example/r"
                members = { type = "linux", "a.b" = 3, on = true, inner = { file = "~/x" } }
                headers = { X-App = "1.2", X-Api-Key = { command = ["pass", "key"] } }
                """
            ).sessions.first
        )
        guard case .json(let backEnd) = session.server else { return }
        #expect(
            backEnd.constants.members == [
                .init("type", .text("linux")), .init("a.b", .integer(3)), .init("on", .boolean(true)),
                .init("inner", .secret(.file("/home/me/x"))),
            ]
        )
        #expect(
            backEnd.constants.headers == [
                .init("X-App", .text("1.2")), .init("X-Api-Key", .secret(.command(["pass", "key"]))),
            ]
        )
        #expect(session.server.settings.secretFiles.map(\.key) == ["members.inner.file"])
        #expect(session.server.settings.commands == [["pass", "key"]])
    }

    @Test func `names that differ only by a dot do not share a secret`() throws {
        let constants = try backEnd(
            """
            refresh_url = "https://api.example/r"
            members = { "a.b" = { file = "/1" }, a = { b = { file = "/2" } } }
            """
        ).constants
        #expect(constants.secrets.map(\.key) == ["members.\"a.b\"", "members.a.b"])
    }

    private static let mistakesInConstants: [(keys: String, complaint: String)] = [
        (
            "headers = { X-App = 3 }",
            "headers.X-App: must be a string, or a secret as { file = \"…\" } or { command = […] }, not an integer"
        ),
        (
            "members = { x = [1] }",
            "members.x: must be a string, integer, boolean, table, or a secret as { file = \"…\" } "
                + "or { command = […] }, not an array"
        ),
        ("members = \"x\"", "members: must be a table, not a string"),
        ("members = { x = { file = \"rel\" } }", "members.x.file: must be an absolute path or begin with ~/"),
        (
            "members = { x = { command = \"pass x\" } }",
            "members.x.command: must be an array of the program and its arguments, such as [\"pass\", \"show\", \"x\"]"
        ),
        ("members = { x = { command = [] } }", "members.x.command: must name a program"),
        (
            "headers = { X = { file = \"/x\", command = [\"x\"] } }",
            "headers.X.command: mutually exclusive: file, command"
        ),
        ("headers = { X = { file = \"/x\", z = 1 } }", "headers.X.z: unknown key"),
        (
            "headers = { X = { y = \"z\" } }",
            "headers.X: must be a string, or a secret as { file = \"…\" } or { command = […] }, not a table"
        ),
        (
            "members = { a = { b = { c = { d = { e = 1 } } } } }",
            "members.a.b.c.d: has more than 4 nested tables"
        ),
        (
            "members = { password = \"x\" }",
            "members: must not contain password, which requests already have"
        ),
        ("members = { \"\" = \"x\" }", "members: must not contain an empty name"),
        (
            "headers = { Content-Length = \"3\" }",
            "headers: must not contain Content-Length, which the agent sets itself"
        ),
        (
            "headers = { aUthorization = \"Basic x\" }",
            "headers: must not contain aUthorization, which the agent sets itself"
        ),
        ("headers = { \"X Y\" = \"3\" }", "headers: \"X Y\" is not a header name"),
        ("headers = { \"X:\" = \"3\" }", "headers: \"X:\" is not a header name"),
        (
            "headers = { X = \"a\\r\\nB: c\" }",
            "headers: the value of X must be up to 4096 bytes of visible ASCII, with spaces only inside"
        ),
        (
            "headers = { X-A = \"1\", x-a = \"2\" }",
            "headers: must not contain a header twice (case is ignored)"
        ),
    ]

    @Test(arguments: mistakesInConstants)
    func `what no request can carry is told`(keys: String, complaint: String) {
        #expect(complaints(keys) == ["config.toml:4: session.phone.\(complaint)"])
    }

    @Test func `members and headers are few`() {
        let members = (0...32).map { "m\($0) = 1" }.joined(separator: ", ")
        let headers = (0...16).map { "H\($0) = \"1\"" }.joined(separator: ", ")
        #expect(
            complaints("members = { \(members) }") == [
                "config.toml:4: session.phone.members: must not contain more than 32 values"
            ]
        )
        #expect(
            complaints("headers = { \(headers) }") == [
                "config.toml:4: session.phone.headers: must not contain more than 16 headers"
            ]
        )
    }
}
