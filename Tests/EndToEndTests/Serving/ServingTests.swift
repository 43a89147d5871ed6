// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    @Suite struct ServingTests {
        @Test(.holds("126")) func `get prints the token and a newline, and nothing else`() async throws {
            let scene = try await Scene.loggedIn()
            let result = try await scene.agent.tokenctl("get", "work")
            #expect(result.status == 0)
            #expect(result.standardError.isEmpty)
            #expect(result.standardOutput == result.line + "\n")
            #expect(try await scene.isAccepted(result.line))
        }

        @Test func `every output format carries the same token`() async throws {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            let json = try #require(try JSONValue(parsing: await scene.token("--format", "json").utf8).object)
            #expect(json["access_token"]?.string == token)
            #expect(json["session"] == "work")
            #expect(json["token_type"] == "Bearer")
            #expect(json["issuer"]?.string == scene.issuer.issuer)
            let left = try #require(json["expires_in"]?.integer)
            #expect((500...600).contains(left))
            #expect(try await scene.token("--format", "header") == "Authorization: Bearer \(token)")
            #expect(try await scene.token("--format", "env").contains(token))
            #expect(try await scene.token("--format", "curl").contains(token))
            let encoded = try await scene.token("--format", "sasl-xoauth2", "--user", "a@example.com")
            let decoded = try await scene.agent.shell("printf %s '\(encoded)' | base64 -d")
            #expect(decoded.standardOutput == "user=a@example.com\u{1}auth=Bearer \(token)\u{1}\u{1}")
            let bearer = try await scene.token("--format", "sasl-oauthbearer", "--user", "a@example.com")
            let opened = try await scene.agent.shell("printf %s '\(bearer)' | base64 -d")
            #expect(opened.standardOutput.hasPrefix("n,a=a@example.com,\u{1}"))
            #expect(opened.standardOutput.contains("auth=Bearer \(token)"))
        }

        @Test func `status tells the state in JSON`() async throws {
            let scene = try await Scene.loggedIn()
            let result = try await scene.agent.tokenctl("status", "work", "--json")
            let status = try #require(try JSONValue(parsing: result.standardOutput.utf8).object)
            #expect(status["session"] == "work")
            #expect(status["state"] == "ready")
            #expect(status["kind"] == "oidc")
            #expect(status["storage"] == "durable")
            #expect(status["scope"] == ["openid", "offline_access", "api"])
            let expiry = try #require(status["expires_at"]?.integer)
            let next = try #require(status["next_refresh_at"]?.integer)
            #expect(next < expiry)
            #expect(status["refreshes"] == 0)
            let list = try await scene.agent.tokenctl("list", "--json")
            let sessions = try JSONValue(parsing: list.standardOutput.utf8).object?["sessions"]?.array
            #expect(sessions?.count == 1)
        }

        @Test func `a short token is refreshed before it expires, unasked`() async throws {
            let scene = try await Scene.loggedIn { $0.accessLifetime = .seconds(3) }
            let first = try await scene.token()
            #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(120)))
            let second = try await Polling.value { () async throws -> String? in
                let token = try await scene.token()
                return token == first ? nil : token
            }
            #expect(try await scene.isAccepted(#require(second)))
            #expect(scene.refreshes >= 1)
        }

        @Test(.holds("114")) func `1000 requests that need a new token cost one refresh`() async throws {
            let scene = try await Scene.loggedIn { $0.accessLifetime = .seconds(1) }
            #expect(try await scene.accessTokenExpires())
            scene.issuer.settings.accessLifetime = .seconds(600)
            scene.issuer.queue(Disturbance(isHeld: true))
            let socket = scene.agent.socket
            let texts = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<1000 {
                    group.addTask {
                        let reply = try await socket.request("GET", "/v1/sessions/work/token?timeout=60")
                        return reply.json?["access_token"]?.string
                    }
                }
                #expect(try await scene.waiters(1000))
                #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(120)))
                let start = ContinuousClock.now
                scene.issuer.release()
                let texts = try await group.reduce(into: [String?]()) { $0.append($1) }
                let took = ContinuousClock.now - start
                Attachment.record(
                    "\(scene.refreshes) request, \(texts.count) served in \(took)",
                    named: "figure"
                )
                return texts
            }
            #expect(texts.count == 1000)
            #expect(Set(texts).count == 1)
            #expect(texts.allSatisfy { $0 != nil })
            #expect(scene.refreshes == 1)
        }

        @Test func `100 clients at once cost one refresh`() async throws {
            let scene = try await Scene.loggedIn { $0.accessLifetime = .seconds(1) }
            #expect(try await scene.accessTokenExpires())
            scene.issuer.settings.accessLifetime = .seconds(600)
            scene.issuer.queue(Disturbance(isHeld: true))
            let clients = try (0..<100).map { _ in try scene.agent.startTokenctl(["get", "work"]) }
            #expect(try await scene.waiters(100))
            #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(120)))
            scene.issuer.release()
            var outputs: Set<String> = []
            for client in clients {
                let result = try await client.finish()
                #expect(result.status == 0, "\(result.standardError)")
                outputs.insert(result.standardOutput)
            }
            #expect(outputs.count == 1)
            #expect(scene.refreshes == 1)
        }

        @Test func `a good token is served while a refresh hangs`() async throws {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            scene.issuer.queue(Disturbance(ending: .hang))
            let refresh = try scene.agent.startTokenctl(["refresh", "work"])
            #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(120)))
            #expect(try await scene.agent.status("work")["state"] == "refreshing")
            for _ in 0..<10 { #expect(try await scene.token() == token) }
            refresh.signal(.kill)
            try await refresh.finish()
            #expect(try await scene.token() == token)
        }

        @Test(.holds("129")) func `a requester that leaves cancels nothing`() async throws {
            let scene = try await Scene.loggedIn { $0.accessLifetime = .seconds(1) }
            #expect(try await scene.accessTokenExpires())
            scene.issuer.settings.accessLifetime = .seconds(600)
            scene.issuer.queue(Disturbance(isHeld: true))
            let first = try scene.agent.startTokenctl(["get", "work"])
            let second = try scene.agent.startTokenctl(["get", "work"])
            #expect(try await scene.waiters(2))
            #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(120)))
            first.signal(.interrupt)
            #expect(try await first.finish().status == 130)
            scene.issuer.release()
            let result = try await second.finish()
            #expect(result.status == 0, "\(result.standardError)")
            #expect(scene.refreshes == 1)
        }

        @Test(.holds("115")) func `each combination of scope and audience has a token of its own`()
            async throws
        {
            let scene = try await Scene.loggedIn()
            let plain = try await scene.token()
            let narrow = try await scene.token("--scope", "api")
            let other = try await scene.token("--audience", "https://api.example.com")
            #expect(Set([plain, narrow, other]).count == 3)
            #expect(try await scene.token("--scope", "api") == narrow)
            #expect(try await scene.token("--audience", "https://api.example.com") == other)
            #expect(try await scene.token() == plain)
            #expect(scene.refreshes == 2)
            let last = try #require(scene.issuer.requests(to: "/token").last)
            #expect(last.form["resource"] == "https://api.example.com")
        }

        @Test(.holds("O27")) func `a refused audience spoils nothing else`() async throws {
            let scene = try await Scene.loggedIn { $0.refusedAudiences = ["https://no.example"] }
            let result = try await scene.agent.tokenctl("get", "work", "--audience", "https://no.example")
            #expect(result.status == 2)
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(try await scene.agent.status("work")["state"] == "ready")
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
        }

        @Test(.holds("112")) func `a firm minimum is never undercut`() async throws {
            let scene = try await Scene.loggedIn()
            let result = try await scene.agent.tokenctl("get", "work", "--min-valid", "2h", "--timeout", "5s")
            #expect(result.status == 2)
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(result.standardOutput.isEmpty)
            #expect(
                result.standardError.hasSuffix("\n  Set: --min-valid (min_valid) to less than 10m\n"),
                "\(result.standardError)"
            )
            #expect(try await scene.agent.tokenctl("get", "work", "--min-valid", "9m").status == 0)
        }

        @Test func `the ID token can be had as well`() async throws {
            let scene = try await Scene.loggedIn()
            let text = try await scene.token("--id-token")
            let claims = try await scene.agent.tokenctl("claims", "work", "--id-token", "--json")
            #expect(claims.standardOutput.contains("demo-public"))
            #expect(text.split(separator: ".").count == 3)
        }

        @Test func `a rejected token is replaced once, whoever reports it`() async throws {
            let scene = try await Scene.loggedIn()
            let rejected = try await scene.token()
            let first = try await scene.agent.tokenctl(
                "refresh",
                "work",
                "--rejected-stdin",
                input: rejected + "\n"
            )
            let second = try await scene.agent.tokenctl(
                "refresh",
                "work",
                "--rejected-stdin",
                input: rejected + "\n"
            )
            #expect(first.status == 0 && second.status == 0)
            #expect(scene.refreshes == 1)
            #expect(try await scene.token() != rejected)
        }
    }
}
