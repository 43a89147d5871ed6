// SPDX-License-Identifier: MIT

import OAuthClient
import ServerSettings
import Testing
import Text
import TokenCore

@testable import AgentSettings

/// Sessions that get their tokens for assertions.
struct AssertionGrantSettingsTests {
    private static func session(_ keys: String, client: String = "client_id = \"c\"") -> String {
        "[session.robot]\nissuer = \"https://id.example\"\n\(client)\nflow = \"jwt_bearer\"\n\(keys)\n"
    }

    /// The keys, and where the assertion comes from.
    @Test(
        arguments: [
            ("assertion_file = \"~/token\"", .file("/home/me/token")),
            ("assertion_command = [\"svid\"]", .command(["svid"])),
            ("assertion_key_file = \"/k\"", .signed(AssertionKey(.file("/k")))),
            (
                "assertion_key_command = [\"pass\"]\nassertion_key_id = \"k1\"",
                .signed(AssertionKey(.command(["pass"]), identifier: "k1"))
            ),
            ("service_account_file = \"/a.json\"", .serviceAccount("/a.json")),
        ] as [(String, AssertionGrant.Source)]
    )
    func `an assertion is somebody else's or our own`(keys: String, source: AssertionGrant.Source) throws {
        let session = try #require(try read(Self.session(keys)).sessions.first)
        #expect(session.sources.grant == .assertion(AssertionGrant(source)))
        #expect(session.policy.startsByItself && session.policy.tokensOutliveLogin && session.hasNoLogin)
        #expect(session.files.count + session.commands.count > 0)
    }

    @Test func `claims are written as they are sent`() throws {
        let keys = """
            assertion_key_file = "/k"
            [session.robot.assertion_claims]
            iss = "robot"
            sub = "alice"
            level = 3
            admin = false
            groups = ["a", "b"]
            context = { tenant = "t" }
            """
        let session = try #require(try read(Self.session(keys, client: "")).sessions.first)
        guard case .assertion(let grant)? = session.sources.grant else {
            Issue.record("no assertion")
            return
        }
        let expected: JSONObject = [
            "iss": "robot", "sub": "alice", "level": 3, "admin": false, "groups": ["a", "b"],
            "context": ["tenant": "t"],
        ]
        #expect(JSONValue.object(grant.claims) == .object(expected))
    }

    @Test(arguments: ["", "kind = \"oauth2\""])
    func `Google's service account needs no more than its file`(kind: String) throws {
        let text = """
            [session.robot]
            \(kind)
            flow = "jwt_bearer"
            service_account_file = "/a.json"
            scopes = ["https://www.googleapis.com/auth/cloud-platform"]
            """
        let session = try #require(try read(text).sessions.first)
        #expect(session.server == .oauth2(FixedEndpoints(token: AssertionGrant.serviceAccountEndpoint)))
        #expect(session.client.id.isEmpty)
    }

    @Test func `another session's token may be the assertion`() throws {
        let jag = """
            [session.jag]
            issuer = "https://id.example"
            client_id = "c"
            flow = "token_exchange"
            from = "work"
            subject_token_type = "id_token"
            requested_token_type = "urn:ietf:params:oauth:token-type:id-jag"

            """
        let text = ConfigurationPlace.session("work") + jag + Self.session("from = \"jag\"")
        let sessions = try read(text).sessions
        let session = try #require(sessions.last)
        #expect(session.sources.grant == .assertion(AssertionGrant(.session)))
        #expect(session.sources.subject?.description == "jag" && !session.policy.tokensOutliveLogin)
        #expect(DerivationGraph(sessions).loginSubstitute(for: session) == .run("tokenctl login work"))
    }

    @Test(arguments: [
        ("", "session.robot.flow: \"jwt_bearer\" requires one of from, assertion_file"),
        ("assertion_file = \"/a\"\nassertion_command = [\"x\"]", "mutually exclusive: assertion_file"),
        ("from = \"nobody\"", "no session named \"nobody\""),
        (
            "assertion_file = \"/a\"\nassertion_claims = { sub = \"x\" }",
            "the assertion is signed elsewhere"
        ),
        ("assertion_file = \"/a\"\nassertion_key_id = \"k\"", "has no effect without an assertion key"),
        ("assertion_file = \"/a\"\nsubject_token_type = \"jwt\"", "only for flow \"token_exchange\""),
        ("assertion_file = \"/a\"\nderived = \"open\"", "has no effect without from"),
        (
            "assertion_key_file = \"/k\"\nassertion_claims = { aud = [\"a\", \"b\"] }",
            "assertion_claims.aud: must be a non-empty string"
        ),
        ("assertion_key_file = \"/k\"\nassertion_claims = { sub = \"\" }", "must be a non-empty string"),
        ("assertion_key_file = \"/k\"\nassertion_claims = { x = [1, 1979-05-27] }", "not an array"),
        (
            "service_account_file = \"/a\"\nassertion_claims = { iss = \"x\" }",
            "the service account file sets this claim"
        ),
        (
            "service_account_file = \"/a\"\nassertion_claims = { scope = \"x\" }",
            "the key scopes sets this claim"
        ),
        ("service_account_file = \"/a\"\naudience = \"x\"", "tokens of a service account have only scopes"),
        ("assertion_key_file = \"/k\"\nassertion_claims = { exp = 1 }", "each assertion has its own"),
        ("assertion_key_file = \"/k\"\nassertion_claims = { x = 1.5 }", "not a float"),
        ("assertion_file = \"/a\"\nmax_session_age = \"1h\"", "the session has no login"),
        ("assertion_file = \"a\"", "must be an absolute path"),
    ])
    func `mistakes are told with their key`(keys: String, words: String) {
        let told = complaints(Self.session(keys))
        #expect(told.count == 1 && told[0].contains(words), "\(told)")
    }

    /// The keys of a session without `client_id`, and what is wrong with it.
    @Test(arguments: [
        (
            "assertion_file = \"/a\"\nclient_secret = \"x\"",
            "client_secret authenticates the client with this ID"
        ),
        (
            "assertion_file = \"/a\"\nclient_metadata_url = \"https://me.example/c\"",
            "(set: client_id to this URL)"
        ),
    ])
    func `what proves a client needs one`(keys: String, words: String) {
        let told = complaints(Self.session(keys, client: ""))
        #expect(told.count == 1 && told[0].contains(words), "\(told)")
    }

    @Test func `a resource chooses no server for an assertion`() {
        for key in ["assertion_file = \"/a\"", "assertion_key_file = \"/k\""] {
            let told = complaints(
                "[session.robot]\nresource = \"https://api.example\"\nclient_id = \"c\"\n"
                    + "flow = \"jwt_bearer\"\n\(key)\n"
            )
            #expect(
                told.count == 1 && told[0].contains("must not be sent to a server that the resource chooses"),
                "\(told)"
            )
        }
    }

    @Test func `what changes is named by its key`() throws {
        func changes(_ old: String, _ new: String) throws -> [String] {
            try read(Self.session(new)).changes(from: read(Self.session(old))).map(\.key)
        }
        let key = "assertion_key_file = \"/k\""
        #expect(try changes(key, key + "\nassertion_key_id = \"k\"") == ["session.robot.assertion_key_id"])
        #expect(try changes(key, "assertion_key_file = \"/l\"") == ["session.robot.assertion_key_file"])
        #expect(
            try changes(key, key + "\nassertion_claims = { sub = \"x\" }")
                == ["session.robot.assertion_claims"]
        )
        #expect(
            try changes(key, "assertion_file = \"/a\"")
                == ["session.robot.assertion_file", "session.robot.assertion_key_file"]
        )
    }

    @Test func `an assertion of our own says who makes it`() {
        let told = complaints(Self.session("assertion_key_file = \"/k\"", client: ""))
        #expect(told.count == 1 && told[0].contains("must contain \"iss\""), "\(told)")
    }

    @Test(arguments: ["assertion_file = \"/a\"", "service_account_file = \"/a\"", "assertion_key_id = \"k\""])
    func `the keys of assertions mean nothing with a login`(key: String) {
        let told = complaints(ConfigurationPlace.session("plain", more: key))
        #expect(told.count == 1 && told[0].contains("only for flow \"jwt_bearer\""), "\(told)")
    }
}
