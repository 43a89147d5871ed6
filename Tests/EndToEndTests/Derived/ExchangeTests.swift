// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Sessions whose tokens are exchanged for those of another session.
    @Suite struct ExchangeTests {
        private static let grant = "urn:ietf:params:oauth:grant-type:token-exchange"

        /// A scene with the session `work`, which `session` has more lines of, and `narrow`, which is made from it.
        private static func scene(
            session: String = "",
            narrow: String = "scopes = [\"api\"]",
            more: String = ""
        ) async throws -> Scene {
            let scene = try await Scene(session: session)
            try scene.append(derived("narrow", scene, from: "work", narrow) + more)
            try await scene.agent.start()
            return scene
        }

        private static func derived(
            _ name: String,
            _ scene: Scene,
            from source: String,
            _ more: String = ""
        ) -> String {
            """
            [session.\(name)]
            issuer = "\(scene.issuer.issuer)"
            client_id = "demo-confidential"
            client_secret = "demo-secret-7f3a"
            flow = "token_exchange"
            from = "\(source)"
            \(more)

            """
        }

        @Test func `one login serves a session made from it, by one exchange`() async throws {
            let scene = try await Self.scene()
            try await scene.logIn()
            let source = try await scene.token()
            var seen: Set<String> = []
            for _ in 0..<5 { seen.insert(try await scene.get("narrow")) }
            #expect(seen.count == 1 && !seen.contains(source))
            #expect(scene.issuer.tokenRequests(Self.grant) == 1)
            let form = scene.issuer.requests(to: "/token").last?.form
            #expect(form?["subject_token"] == source && form?["scope"] == "api")
            #expect(form?["refresh_token"] == nil)
            let status = try await scene.agent.status("narrow")
            #expect(status["state"]?.string == "ready" && status["scope"] == ["api"])
            #expect(status["refresh_expires_at"] == nil)
            let audit = try await scene.agent.tokenctl("audit", "narrow", "--json")
            #expect(audit.standardOutput.contains("\"source\":\"work\""), "\(audit)")
        }

        @Test func `before the login and after the logout the source's login is what helps`() async throws {
            let scene = try await Self.scene()
            let early = try await scene.agent.tokenctl("get", "narrow")
            #expect(early.status == 4 && early.complainsInOneLine, "\(early)")
            #expect(early.standardError.contains("tokenctl login work"), "\(early)")
            let login = try await scene.agent.tokenctl("login", "narrow")
            #expect(login.status == 2 && login.standardError.contains("tokenctl login work"), "\(login)")
            try await scene.logIn()
            // The agent exchanges the token without a request.
            #expect(try await scene.agent.reaches("ready", "narrow"))
            let token = try await scene.get("narrow")
            #expect(try await scene.agent.tokenctl("logout", "work").status == 0)
            let late = try await scene.agent.tokenctl("get", "narrow")
            #expect(late.status == 4 && late.standardError.contains("tokenctl login work"), "\(late)")
            #expect(
                try await Polling.until {
                    scene.issuer.requests(to: "/revoke").contains { $0.form["token"] == token }
                }
            )
        }

        @Test(.holds("186")) func `another account's login leaves nothing of the last one`() async throws {
            let scene = try await Self.scene()
            try await scene.logIn()
            let alice = try await scene.get("narrow")
            #expect(try await scene.owner(of: alice) == "alice")
            let login = try await scene.agent.tokenctl(
                "login",
                "work",
                "--username",
                "bob",
                "--password-stdin",
                input: "bob-password\n"
            )
            #expect(login.status == 0, "\(login)")
            let bob = try await Polling.value { () async throws -> String? in
                let result = try await scene.agent.tokenctl("get", "narrow")
                return result.status == 0 && result.line != alice ? result.line : nil
            }
            #expect(try await scene.owner(of: #require(bob)) == "bob")
            #expect(try await Polling.until { try await scene.owner(of: alice) == nil })
        }

        @Test(.holds("186")) func `a thousand requests on an expired chain of three are one request each`()
            async throws
        {
            let scene = try await Scene.loggedIn(
                { $0.accessLifetime = .seconds(1) },
                more: "[agent]\nget_timeout = \"5m\""
            )
            #expect(try await scene.accessTokenExpires())
            scene.issuer.settings.accessLifetime = .seconds(600)
            scene.issuer.queue(Disturbance(isHeld: true, grantType: "refresh_token"))
            try scene.append(
                Self.derived("narrow", scene, from: "work") + Self.derived("third", scene, from: "narrow")
            )
            scene.issuer.forgetRequests()
            #expect(try await scene.agent.tokenctl("reload").status == 0)
            let socket = scene.agent.socket
            let tokens = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<1000 {
                    group.addTask {
                        let reply = try await socket.request("GET", "/v1/sessions/third/token?timeout=300")
                        return reply.json?["access_token"]?.string
                    }
                }
                #expect(try await scene.waiters(1000))
                #expect(await scene.issuer.hasReceived(1, to: "/token", within: .seconds(120)))
                scene.issuer.release()
                return try await group.reduce(into: [String?]()) { $0.append($1) }
            }
            #expect(tokens.count == 1000 && Set(tokens).count == 1 && tokens[0] != nil)
            let exchanges = scene.issuer.tokenRequests(Self.grant)
            #expect(scene.refreshes == 1 && exchanges == 2)
            let figure = "1,000 gets: \(scene.refreshes) refresh, \(exchanges) exchanges"
            Attachment.record(figure, named: "figure")
        }

        @Test(.holds("186"))
        func `a kill in the middle of an exchange loses nothing, and a restart needs no network`()
            async throws
        {
            let scene = try await Self.scene()
            try await scene.logIn()
            let token = try await scene.get("narrow")
            scene.issuer.queue(Disturbance(isHeld: true, grantType: Self.grant))
            let waiting = try scene.agent.startTokenctl(["refresh", "narrow"])
            #expect(try await Polling.until { scene.issuer.tokenRequests(Self.grant) == 2 })
            try await scene.agent.kill()
            _ = try await waiting.finish()
            scene.issuer.release()
            scene.issuer.forgetRequests()
            try await scene.agent.start()
            #expect(try await scene.get("narrow") == token)
            #expect(scene.issuer.requests(to: "/token").isEmpty)
            #expect(try await scene.agent.tokenctl("refresh", "narrow").status == 0)
            #expect(try await scene.get("narrow") != token)
        }

        @Test(.holds("186")) func `a record that is older than its source's logout serves nothing`()
            async throws
        {
            let scene = try await Self.scene()
            try await scene.logIn()
            _ = try await scene.get("narrow")
            let configuration = try #require(File.text(scene.agent.configurationPath))
            // As if the agent had been killed between the logout of the source and that of the session made from it.
            try scene.agent.configure(configuration.replacing("[session.narrow]", with: "[session.other]"))
            #expect(try await scene.agent.tokenctl("reload").status == 0)
            #expect(try await scene.agent.tokenctl("logout", "work").status == 0)
            try await scene.agent.kill()
            try scene.agent.configure(configuration)
            try await scene.agent.start()
            let result = try await scene.agent.tokenctl("get", "narrow")
            #expect(result.status == 4 && result.standardError.contains("tokenctl login work"), "\(result)")
        }

        @Test(.holds("186"))
        func `a source that was changed while no agent ran is asked before anything is served`()
            async throws
        {
            let scene = try await Self.scene()
            try scene.append(Scene.session("other", scene.issuer))
            #expect(try await scene.agent.tokenctl("reload").status == 0)
            try await scene.logIn()
            let alice = try await scene.get("narrow")
            let login = try await scene.agent.tokenctl(
                ["login", "other", "--username", "bob", "--password-stdin"],
                input: "bob-password\n"
            )
            #expect(login.status == 0, "\(login)")
            try await scene.agent.kill()
            let configuration = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(configuration.replacing("from = \"work\"", with: "from = \"other\""))
            try await scene.agent.start()
            let bob = try await scene.get("narrow")
            #expect(bob != alice)
            #expect(try await scene.owner(of: bob) == "bob")
        }

        @Test(arguments: [("invalid_grant", Int32(5)), ("invalid_request", 5), ("invalid_target", 2)])
        func `what a server refuses needs nobody`(code: String, status: Int32) async throws {
            let scene = try await Self.scene()
            try await scene.logIn()
            _ = try await scene.get("narrow")
            scene.issuer.queue(Disturbance(reply: .failure(code), grantType: Self.grant))
            // The request was to replace the current token, so the failure decides.
            let result = try await scene.agent.tokenctl("refresh", "narrow")
            #expect(result.status == status && result.complainsInOneLine, "\(result)")
            #expect(try await scene.agent.tokenctl("refresh", "narrow").status == 0)
            #expect(try await scene.agent.status("work")["state"]?.string == "ready")
        }

        @Test func `the end of the source's login ends what is made from it`() async throws {
            let scene = try await Self.scene()
            try await scene.logIn()
            let token = try await scene.get("narrow")
            scene.issuer.killGrants()
            let ended = try await scene.agent.tokenctl("refresh", "work")
            #expect(ended.status == 4, "\(ended)")
            let late = try await scene.agent.tokenctl("get", "narrow")
            #expect(late.status == 4 && late.standardError.contains("tokenctl login work"), "\(late)")
            #expect(try await Polling.until { try await !scene.isAccepted(token) })
            try await scene.logIn()
            #expect(try await scene.agent.reaches("ready", "narrow"))
        }

        @Test(.holds("186"))
        func `who may not see the source sees nothing made from it, unless that is open`() async throws {
            let scene = try await Self.scene(session: #"allow = [{ exe = "/usr/bin/true" }]"#)
            try scene.append(Self.derived("open", scene, from: "work", "derived = \"open\""))
            #expect(try await scene.agent.tokenctl("reload").status == 0)
            #expect(try await scene.agent.tokenctl("get", "narrow").status == 7)
            #expect(try await scene.agent.tokenctl("get", "open").status == 4)
            let list = try await scene.agent.tokenctl("list")
            #expect(list.standardOutput.contains("open"), "\(list)")
            #expect(!list.standardOutput.contains("narrow"), "\(list)")
        }

        @Test func `a session may be made from what a program prints`() async throws {
            let scene = try await Scene()
            let path = try scene.agent.home.write("#!/bin/sh\nexit 4\n", to: "tool", mode: 0o700)
            try scene.append(
                """
                [session.tool]
                kind = "command"
                command = ["\(path)"]
                login_remedy = "az login"

                """ + Self.derived("made", scene, from: "tool")
            )
            try await scene.agent.start()
            let result = try await scene.agent.tokenctl("get", "made")
            #expect(result.status == 4 && result.standardError.contains("az login"), "\(result)")
            #expect(scene.issuer.requests(to: "/token").isEmpty)
            try await scene.logIn()
            let token = try await scene.token()
            try scene.agent.home.write("#!/bin/sh\necho '\(token)'\n", to: "tool", mode: 0o700)
            // The session that waits for the program's token needs no request of its own.
            #expect(try await scene.agent.tokenctl("refresh", "tool").status == 0)
            #expect(try await scene.agent.reaches("ready", "made"))
            #expect(scene.issuer.requests(to: "/token").last?.form["subject_token"] == token)
        }
    }
}

extension Scene {
    /// Adds tables to the end of the configuration.
    fileprivate func append(_ tables: String) throws {
        let configuration = try #require(File.text(agent.configurationPath))
        try agent.configure(configuration + tables)
    }

    fileprivate func get(
        _ session: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let result = try await agent.tokenctl("get", session)
        try #require(result.status == 0, "\(result) \(agent.log)", sourceLocation: sourceLocation)
        return result.line
    }

    /// Returns the user to whom the access token belongs, or `nil` if the issuer no longer accepts it.
    fileprivate func owner(of token: String) async throws -> String? {
        let result = try await agent.shell(
            "curl -s -H 'Authorization: Bearer \(token)' \(issuer.issuer)/resource"
        )
        return (try? JSONValue(parsing: result.standardOutput.utf8))?.object?["hello"]?.string
    }
}
