// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

/// A protected resource that names the issuer of a scene, which registers clients.
struct ResourceScene {
    let scene: Scene
    private let home: DemoIssuer
    var address: String { "\(home.issuer)/mcp" }
    var issuer: String { scene.issuer.issuer }

    /// `changes` replaces members of the resource's metadata, and `change` the listening options of both servers.
    init(
        _ changes: [String: JSONValue] = [:],
        options change: (inout DemoIssuer.Options) throws -> Void = { _ in }
    ) async throws {
        let scene = try await Scene(options: change)
        var options = DemoIssuer.Options()
        try change(&options)
        let home = try await DemoIssuer.start(options)
        scene.issuer.settings.metadata["registration_endpoint"] = .string("\(scene.issuer.issuer)/register")
        scene.issuer.add(
            Route("POST", "/register") { _ in
                .json(["client_id": "demo-public", "token_endpoint_auth_method": "none"], status: 201)
            }
        )
        var document: JSONObject = [
            "resource": .string("\(home.issuer)/mcp"),
            "authorization_servers": [.string(scene.issuer.issuer)], "scopes_supported": ["api"],
        ]
        for (name, value) in changes { document[name] = value }
        let reply = IssuerResponse.json(.object(document))
        home.add(Route(nil, "/mcp") { _ in IssuerResponse(status: 401) })
        home.add(Route("GET", "/.well-known/oauth-protected-resource/mcp") { _ in reply })
        self.scene = scene
        self.home = home
        try await scene.agent.start()
    }

    /// Answers at the resource's own address never end.
    func streamForEver() {
        let events = IssuerResponse(
            headers: [("Content-Type", "text/event-stream")],
            body: Array(repeating: 0x20, count: 600_000)
        )
        home.queue(Disturbance(reply: events, ending: .drip(bytesPerSecond: 1_000)), for: "/mcp", times: 100)
    }

    func tokenctl(_ arguments: String...) async throws -> ProgramResult {
        try await scene.agent.tokenctl(arguments)
    }

    var registrations: Int { scene.issuer.requests(to: "/register").count }
    var words: String {
        "The resource \(address) accepts tokens from \(issuer) (scopes requested at login: api offline_access)\n"
    }
}

extension EndToEnd {
    /// Sessions of which only the address of a protected resource is known.
    @Suite(.full) struct AddResourceTests {
        @Test(.holds("196"))
        func `an address is enough for a session, and its client is registered at the login`()
            async throws
        {
            let place = try await ResourceScene()
            let added = try await place.tokenctl("add", "z", "--url", place.address)
            #expect(added.status == 0 && added.standardError.isEmpty, "\(added)")
            #expect(added.standardOutput.hasPrefix(place.words), "\(added)")
            #expect(
                added.standardOutput.contains(
                    "\nChosen: flow browser; client registered at the first login\n"
                )
            )
            let text = try #require(File.text(place.scene.sessionFile("z")))
            #expect(
                text.hasSuffix(
                    "\n[session.z]\nkind     = \"oidc\"\nresource = \"\(place.address)\"\nflow     = \"browser\"\n"
                ),
                "\(text)"
            )
            // Neither probing the server nor writing the file registers a client.
            #expect(place.registrations == 0)
            let login = try await place.tokenctl("login", "z")
            #expect(login.status == 0, "\(login) \(place.scene.agent.log)")
            #expect(place.registrations == 1)
            let token = try await place.tokenctl("get", "z")
            #expect(token.status == 0 && !token.line.isEmpty)
            #expect(place.scene.issuer.requests(to: "/token").last?.form["resource"] == place.address)
            // Its table names no issuer. One on the command line applies only to this login.
            let named = try await place.tokenctl("login", place.address, "--issuer", place.issuer)
            #expect(named.status == 0, "\(named)")
            let other = try await place.tokenctl("login", place.address, "--issuer", "https://id.example")
            #expect(
                other.status == 2 && other.standardError.contains("does not accept tokens from"),
                "\(other)"
            )
        }

        @Test(.holds("196")) func `a login at an address asks first, and finds its session from then on`()
            async throws
        {
            let place = try await ResourceScene()
            let terminal = try ProgramAtTerminal(
                [BuiltPrograms.client, "login", place.address],
                environment: place.scene.agent.environment
            )
            try await terminal.type("y", after: "Create a session and log in to this issuer? [y/N] ")
            #expect(terminal.screen.contains("accepts tokens from \(place.issuer)"), "\(terminal.screen)")
            #expect(try await terminal.shows("Logged in to \"127.0.0.1\""), "\(terminal.screen)")
            #expect(place.scene.sessionFiles == ["127.0.0.1.toml"])
            // The login keeps the issuer that the user agreed to. A later login may use the resource's new issuer.
            let text = try #require(File.text(place.scene.sessionFile("127.0.0.1")))
            #expect(!text.contains("\nissuer"), "\(text)")
            let below = try await place.tokenctl("login", "\(place.address)/tools?x=1")
            #expect(below.status == 0, "\(below)")
            #expect(place.scene.sessionFiles == ["127.0.0.1.toml"])
            #expect(try await place.tokenctl("get", "127.0.0.1").status == 0)
            #expect(place.registrations == 1)
        }

        @Test(.holds("196"), arguments: ["", "n", "yeah"])
        func `a person who does not say yes has no session`(answer: String) async throws {
            let place = try await ResourceScene()
            let terminal = try ProgramAtTerminal(
                [BuiltPrograms.client, "login", place.address],
                environment: place.scene.agent.environment
            )
            try await terminal.type(answer, after: "Create a session and log in to this issuer? [y/N] ")
            #expect(try await terminal.shows("no session created"), "\(terminal.screen)")
            #expect(place.scene.sessionFiles.isEmpty)
            #expect(place.registrations == 0)
        }

        @Test(.holds("196")) func `nobody agrees to what was not shown`() async throws {
            let place = try await ResourceScene()
            let terminal = try ProgramAtTerminal(
                [BuiltPrograms.client, "login", "--json", place.address],
                environment: place.scene.agent.environment
            )
            #expect(try await terminal.shows("--issuer '\(place.issuer)'"), "\(terminal.screen)")
            #expect(!terminal.screen.contains("[y/N]"))
            #expect(place.scene.sessionFiles.isEmpty && place.registrations == 0)
        }

        @Test(.holds("196")) func `without a person the issuer has to be named`() async throws {
            let place = try await ResourceScene()
            let unasked = try await place.tokenctl("login", place.address)
            #expect(unasked.status == 2 && unasked.complainsInOneLine, "\(unasked)")
            #expect(unasked.standardError.contains(" --issuer '\(place.issuer)'"), "\(unasked)")
            let other = try await place.tokenctl("login", place.address, "--issuer", "https://id.example")
            #expect(other.status == 2 && other.complainsInOneLine, "\(other)")
            #expect(
                other.standardError.contains("does not accept tokens from https://id.example"),
                "\(other)"
            )
            #expect(place.scene.sessionFiles.isEmpty && place.registrations == 0)
            let named = try await place.tokenctl("login", place.address, "--issuer", place.issuer)
            #expect(named.status == 0, "\(named) \(place.scene.agent.log)")
            let text = try #require(File.text(place.scene.sessionFile("127.0.0.1")))
            #expect(text.contains("issuer   = \"\(place.issuer)\"\n"), "\(text)")
            let again = try await place.tokenctl("login", place.address, "--issuer", place.issuer)
            #expect(again.status == 0, "\(again)")
            let wrong = try await place.tokenctl("login", place.address, "--issuer", "https://id.example")
            #expect(wrong.status == 2 && wrong.complainsInOneLine, "\(wrong)")
            #expect(wrong.standardError.contains("the issuer \(place.issuer), not https://id.example"))
        }

        /// A stream of events begins, and goes on for ten minutes.
        @Test(.holds("193")) func `of a resource that answers without end only the head is waited for`()
            async throws
        {
            let place = try await ResourceScene()
            place.streamForEver()
            let start = ContinuousClock.now
            let added = try await place.tokenctl("add", "z", "--url", place.address)
            #expect(added.status == 0, "\(added)")
            let login = try await place.tokenctl("login", "z")
            #expect(login.status == 0, "\(login) \(place.scene.agent.log)")
            #expect(ContinuousClock.now - start < .seconds(20))
        }

        /// Members of a lying resource's metadata, with their values and a part of the error message.
        static let lies: [(String, JSONValue, String)] = [
            ("resource", "https://other.example/mcp", "is for https://other.example/mcp"),
            ("authorization_servers", [], "not a list of issuers"),
            ("authorization_servers", ["https://evil.example/\u{1B}[2J\n"], "the resource's issuer"),
            ("scopes_supported", ["$(id)\u{1B}", "a b"], "invalid scopes"),
        ]

        @Test(.holds("196"), arguments: lies)
        func `a resource that lies is not added`(member: String, value: JSONValue, word: String) async throws
        {
            let place = try await ResourceScene([member: value])
            for command in [["add", "z", "--url", place.address], ["login", place.address]] {
                let result = try await place.scene.agent.tokenctl(command)
                #expect([2, 5].contains(result.status) && result.complainsInOneLine, "\(result)")
                #expect(result.standardError.contains(word), "\(result)")
                #expect(!result.standardError.contains("--kind oauth2"), "it is about a resource: \(result)")
                #expect(result.status == 5 || result.standardError.contains("  Run: tokenctl add "))
                let all = result.standardOutput + result.standardError
                #expect(all.utf8.allSatisfy { $0 == 0x0A || (0x20..<0x7F).contains($0) })
            }
            #expect(place.scene.sessionFiles.isEmpty)
        }

        @Test(arguments: [
            ["add", "z", "--url", "x", "--preset", "google"], ["add", "z", "--url", "x", "--kind", "oauth2"],
            ["login", "work", "--issuer", "https://id.example"], ["login", "ftp://a.example/"],
            ["login", "https://a.example/../x"], ["add", "z", "--url", "http://a.example/mcp"],
        ])
        func `what is no resource is refused`(arguments: [String]) async throws {
            let scene = try await Scene()
            try await scene.agent.start()
            let result = try await scene.agent.tokenctl(arguments)
            #expect(result.status == 2 && result.complainsInOneLine, "\(result)")
            #expect(scene.sessionFiles.isEmpty)
        }
    }
}
