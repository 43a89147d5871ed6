// SPDX-License-Identifier: MIT

import OAuthClient
import ServerSettings
import TestSupport
import Testing
import TokenCore

@testable import AgentSettings

/// Sessions that are made from others, or from a token in a file or of a program.
struct ExchangeSettingsTests {
    private static let root = ConfigurationPlace.session("root")

    private static func exchange(_ name: String, _ keys: String) -> String {
        ConfigurationPlace.session(name, more: "flow = \"token_exchange\"\n\(keys)")
    }

    private static func from(_ source: String) -> String { "from = \"\(source)\"" }

    @Test func `an exchange at a server without discovery needs no client, unless it has a secret`() throws {
        let keys = """
            [session.made]
            kind = "oauth2"
            token_endpoint = "https://sts.example/token"
            flow = "token_exchange"
            from = "root"

            """
        #expect(try read(Self.root + keys).sessions.last?.client.id.isEmpty == true)
        #expect(throws: ConfigurationProblems.self) { try read(Self.root + keys + "client_secret = \"s\"\n") }
    }

    @Test func `an exchange knows its sources`() throws {
        let keys = """
            from = "root"
            actor_from = "agent"
            subject_token_type = "id_token"
            requested_token_type = "urn:ietf:params:oauth:token-type:id-jag"
            """
        let text = Self.root + ConfigurationPlace.session("agent") + Self.exchange("made", keys)
        let sessions = try read(text).sessions
        let session = try #require(sessions.last)
        #expect(
            session.sources.grant
                == .exchange(
                    TokenExchange(
                        subject: .session,
                        subjectTokenType: "urn:ietf:params:oauth:token-type:id_token",
                        requestedTokenType: "urn:ietf:params:oauth:token-type:id-jag"
                    )
                )
        )
        #expect(session.sources.usesIDToken)
        #expect(session.sources.all.map(\.description) == ["root", "agent"])
        #expect(session.policy.startsByItself && !session.policy.tokensOutliveLogin && session.hasNoLogin)
        #expect(session.profile { _ in SecretID(rawValue: 0) }.grant == session.sources.grant)
        let lineage = DerivationGraph(sessions)
        #expect(lineage.loginSubstitute(for: session) == .run("tokenctl login root"))
        #expect(Set(lineage.ruleGivers(of: session).map(\.description)) == ["root", "agent"])
    }

    /// The keys, and the type of the token that is exchanged.
    @Test(
        arguments: [
            ("from = \"root\"", "access_token"), ("subject_token_file = \"/run/token\"", "jwt"),
            ("subject_token_command = [\"print\"]", "jwt"),
            ("subject_token_file = \"/run/token\"\nsubject_token_type = \"saml2\"", "saml2"),
        ] as [(String, String)]
    )
    func `the type of a token follows from where it is`(keys: String, word: String) throws {
        let session = try #require(try read(Self.root + Self.exchange("made", keys)).sessions.last)
        guard case .exchange(let exchange)? = session.sources.grant else {
            Issue.record("nothing is exchanged")
            return
        }
        #expect(exchange.subjectTokenType == "urn:ietf:params:oauth:token-type:\(word)")
    }

    @Test func `a token of a file or program outlives no login, and needs nobody`() throws {
        let keys = "subject_token_file = \"~/token\""
        let settings = try read(Self.exchange("made", keys))
        let session = try #require(settings.sessions.first)
        #expect(session.policy.startsByItself && session.policy.tokensOutliveLogin)
        #expect(session.files.map(\.path) == ["/home/me/token"])
        #expect(session.commands == [["cat", "--", "/home/me/token"]])
        let remedy = DerivationGraph(settings.sessions).loginSubstitute(for: session)
        #expect(remedy == .run("tokenctl refresh made"))
        let command = try read(Self.exchange("made", "subject_token_command = [\"print\", \"it\"]"))
        #expect(command.sessions.first?.commands == [["print", "it"]])
    }

    @Test func `what it is made of tells one session from another`() throws {
        var seen: Set<String> = []
        let rows: [String] = [
            "from = \"root\"", "from = \"root\"\nscopes = [\"a\"]", "from = \"root\"\naudience = \"a\"",
            "from = \"root\"\nresources = [\"https://a\"]", "from = \"root\"\nactor_from = \"root\"",
            "from = \"root\"\nsubject_token_type = \"id_token\"", "from = \"other\"",
            "subject_token_file = \"/run/token\"", "subject_token_command = [\"/run/token\", \"x\"]",
        ]
        for keys in rows {
            let text = Self.root + ConfigurationPlace.session("other") + Self.exchange("made", keys)
            seen.insert(try #require(try read(text).sessions.last).fingerprint)
        }
        #expect(seen.count == rows.count)
    }

    @Test func `another server of its source is another origin`() throws {
        func fingerprint(_ root: String) throws -> String {
            let text = root + Self.exchange("a", Self.from("root")) + Self.exchange("b", Self.from("a"))
            let sessions = try read(text).sessions
            return DerivationGraph(sessions).fingerprint(of: try #require(sessions.last))
        }
        let other = Self.root.replacing("https://id.example", with: "https://other.example")
        #expect(try fingerprint(Self.root) != fingerprint(other))
    }

    @Test(
        arguments: [
            ("", "session.made.from: required"), ("from = \"nobody\"", "no session named \"nobody\""),
            ("from = \"rot\"", "did you mean root?"),
            ("from = \"made\"", "session.made.from: must not be the session itself"),
            ("from = \"root\"\nsubject_token_file = \"/t\"", "mutually exclusive: from, subject_token_file"),
            ("from = \"root\"\nsubject_token_type = \"refresh_token\"", "must not be a refresh token"),
            ("from = \"root\"\nrequested_token_type = \"refresh_token\"", "must not be a refresh token"),
            ("from = \"root\"\nsubject_token_type = \"saml2\"", "must be access_token, id_token or jwt"),
            ("from = \"root\"\nsubject_token_type = \"access token\"", "is not a token type"),
            ("from = \"root\"\nderived = \"closed\"", "is not one of open"),
            ("subject_token_file = \"/t\"\nderived = \"open\"", "session.made.derived: has no effect"),
            ("from = \"root\"\nmax_session_age = \"1h\"", "the session has no login"),
            ("from = \"root\"\nreauth = [\"prompt\"]", "the session has no login"),
            ("from = \"root\"\nredirect_port = 7000", "the session has no login"),
            ("subject_token_file = \"token\"", "must be an absolute path"),
            ("from = \"a b\"", "is not a session name"),
        ] as [(String, String)]
    )
    func `mistakes are told with their key`(keys: String, words: String) {
        let told = complaints(Self.root + Self.exchange("made", keys))
        #expect(told.count == 1 && told[0].contains(words), "\(told)")
    }

    @Test(arguments: ["from = \"root\"", "subject_token_type = \"jwt\"", "derived = \"open\""])
    func `the keys of an exchange mean nothing with a login`(key: String) {
        let told = complaints(Self.root + ConfigurationPlace.session("plain", more: key))
        #expect(told.count == 1 && told[0].contains("has no effect: only for flow"), "\(told)")
    }

    @Test(.holds("186")) func `a circle of three and a chain of five are mistakes`() {
        let circle = ["a": "b", "b": "c", "c": "a"].map { Self.exchange($0.key, Self.from($0.value)) }
        let told = complaints(circle.joined())
        #expect(told.contains { $0.hasSuffix("circular source: a -> b -> c -> a") }, "\(told)")
        #expect(told.count == 3 && told.allSatisfy { $0.contains("circular source: ") }, "\(told)")
        func chain(_ links: Int) -> [String] {
            let names = ["root"] + (1...links).map { "s\($0)" }
            let made = zip(names.dropFirst(), names).map { Self.exchange($0, Self.from($1)) }
            return complaints(Self.root + made.joined())
        }
        #expect(chain(4).isEmpty)
        let long = chain(5)
        #expect(
            long.count == 1 && long[0].contains("session.s5.from: has a chain of more than 4"),
            "\(long)"
        )
    }

    @Test func `a circle through an actor is one too`() {
        let keys = "from = \"root\"\nactor_from = \"b\""
        let told = complaints(Self.root + Self.exchange("a", keys) + Self.exchange("b", Self.from("a")))
        #expect(
            told.contains { $0.contains("session.a.actor_from: circular source: a -> b -> a") },
            "\(told)"
        )
    }

    // MARK: Visibility

    @Test(.holds("186")) func `who may see a session follows its sources up to the first that is open`()
        throws
    {
        let hidden = "allow = [{ exe = \"/usr/bin/git\" }]"
        let text =
            ConfigurationPlace.session("root", more: hidden) + Self.exchange("a", Self.from("root"))
            + Self.exchange("b", "from = \"a\"\nderived = \"open\"") + Self.exchange("c", Self.from("b"))
        let sessions = try read(text).sessions
        let lineage = DerivationGraph(sessions)
        let givers = sessions.map { lineage.ruleGivers(of: $0).map(\.description) }
        #expect(givers == [[], ["root"], [], ["b"]])
    }

    // MARK: Files of their own

    @Test func `a mistake in a file costs the sessions made from it, and nothing else`() throws {
        let place = try ConfigurationPlace(
            Self.root + Self.exchange("made", Self.from("work")) + Self.exchange("third", Self.from("made"))
        )
        try place.add(ConfigurationPlace.session("work", more: "kind = 7"), to: "work.toml")
        #expect(try place.settings().sessions.map(\.name.description) == ["root"])
        let mistakes = try place.mistakes()
        #expect(
            mistakes.contains { $0.contains("session.made.from: session \"work\" is unavailable: its file") }
        )
        let third = "session.third.from: session \"made\" is unavailable: it has an error"
        #expect(mistakes.contains { $0.contains(third) }, "\(mistakes)")
        // Those in force go on as they were.
        let named = try place.settings().mistakes.compactMap(\.session?.description)
        #expect(Set(named) == ["work", "made", "third"])
    }

    @Test func `a file that closes a circle or names nobody is left out alone`() throws {
        let place = try ConfigurationPlace(Self.root + Self.exchange("made", Self.from("root")))
        try place.add(Self.exchange("alone", Self.from("nobody")), to: "alone.toml")
        try place.add(Self.exchange("left", Self.from("right")), to: "left.toml")
        try place.add(Self.exchange("right", Self.from("left")), to: "right.toml")
        #expect(try place.settings().sessions.map(\.name.description) == ["root", "made"])
        let mistakes = try place.mistakes()
        #expect(mistakes.count == 3, "\(mistakes)")
        #expect(
            mistakes.contains { $0.hasPrefix("sessions.d/alone.toml:5: session.alone.from: no session") }
        )
    }

    @Test func `a session in a file may be made from one beside it`() throws {
        let place = try ConfigurationPlace(Self.exchange("made", Self.from("work")))
        try place.add(ConfigurationPlace.session("work"), to: "work.toml")
        try place.add(Self.exchange("third", Self.from("made")), to: "third.toml")
        let settings = try place.settings()
        #expect(settings.sessions.count == 3 && settings.mistakes.isEmpty)
    }
}
