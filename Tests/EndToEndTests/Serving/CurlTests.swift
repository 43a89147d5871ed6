// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    @Suite struct CurlTests {
        @Test func `a refused token is replaced and the request sent again`() async throws {
            let scene = try await Scene.loggedIn()
            scene.issuer.forgetAccessTokens()
            let url = scene.issuer.issuer + "/resource"
            let result = try await scene.agent.tokenctl(
                ["curl", "work", "--", "-s", "-i", "-w", "%{http_code}", url]
            )
            #expect(result.status == 0, "\(result.standardError)")
            #expect(result.standardError.isEmpty)
            #expect(result.standardOutput.hasPrefix("HTTP/1.1 200"))
            #expect(result.standardOutput.hasSuffix("200"))
            #expect(result.standardOutput.contains("401") == false)
            #expect(scene.refreshes == 1)
            #expect(scene.issuer.requests(to: "/resource").count == 2)
        }

        @Test(arguments: [
            ["--data-binary", "@-"], ["-d@-"], ["-T", "-"], ["-sT-"], ["--data-binary", "@body"],
            ["-F", "a=@-"],
        ])
        func `a body is sent again in full`(_ options: [String]) async throws {
            let scene = try await Scene.loggedIn()
            scene.issuer.forgetAccessTokens()
            let body = String(repeating: "0123456789", count: 20_000)
            let file = try scene.agent.home.write(body, to: "body")
            let arguments = options.map { $0 == "@body" ? "@\(file)" : $0 }.joined(separator: " ")
            let url = scene.issuer.issuer + "/resource"
            // Once through a pipe; a file is read again from where it stood.
            let result = try await scene.agent.shell(
                "cat '\(file)' | tokenctl curl work -- -s -o /dev/null -w '%{http_code}' \(arguments) \(url)"
            )
            #expect(result.line == "200", "\(result.standardError)")
            let bodies = scene.issuer.requests(to: "/resource").map(\.body)
            #expect(bodies.count == 2)
            #expect(bodies.allSatisfy { $0.count >= body.utf8.count })
        }

        @Test func `status, output and headers are those of curl`() async throws {
            let scene = try await Scene.loggedIn()
            let base = scene.issuer.issuer
            let missing = try await scene.agent.tokenctl(["curl", "work", "--", "-sSf", base + "/nothing"])
            #expect(missing.status == 22)
            #expect(missing.standardError.contains("404"))
            let refused = try await scene.agent.tokenctl(["curl", "work", "--", "-s", "http://127.0.0.1:1/"])
            #expect(refused.status == 7)
            scene.issuer.forgetAccessTokens()
            let heads = scene.agent.home.path("heads")
            let output = scene.agent.home.path("output")
            let saved = try await scene.agent.tokenctl(
                ["curl", "work", "--", "-sSfD", heads, "-o", output, base + "/resource"]
            )
            #expect(saved.status == 0 && saved.standardError.isEmpty && saved.standardOutput.isEmpty)
            #expect(File.text(heads)?.hasPrefix("HTTP/1.1 200") == true)
            #expect(File.text(output)?.contains("hello") == true)
        }

        @Test func `a server that refuses the fresh token too is believed`() async throws {
            let scene = try await Scene.loggedIn()
            scene.issuer.queue(
                IssuerResponse(status: 401, body: Array(#"{"error":"invalid_token"}"#.utf8)),
                for: "/resource",
                times: 2
            )
            let url = scene.issuer.issuer + "/resource"
            let result = try await scene.agent.tokenctl(
                ["curl", "work", "--", "-s", "-w", "%{http_code}", url]
            )
            #expect(result.standardOutput == #"{"error":"invalid_token"}401"#)
            #expect(result.status == 0)
            #expect(scene.refreshes == 1)
            #expect(scene.issuer.requests(to: "/resource").count == 2)
        }

        @Test func `a refusal of a credential that the caller gave is not blamed on the token`() async throws
        {
            let scene = try await Scene.loggedIn()
            let headers = try scene.agent.home.write("Authorization: Bearer other\n", to: "headers")
            let url = scene.issuer.issuer + "/resource"
            let result = try await scene.agent.tokenctl(
                [
                    "curl", "work", "--", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", "@\(headers)",
                    url,
                ]
            )
            #expect(result.status == 0 && result.standardOutput == "401", "\(result)")
            #expect(scene.refreshes == 0 && scene.issuer.requests(to: "/resource").count == 1)
        }

        @Test func `a session that is over is told with the command to run`() async throws {
            let scene = try await Scene.loggedIn()
            scene.issuer.forgetAccessTokens()
            scene.issuer.killGrants()
            let url = scene.issuer.issuer + "/resource"
            let result = try await scene.agent.tokenctl(["curl", "work", "--", "-s", url])
            #expect(result.status == 4)
            #expect(result.standardOutput.isEmpty)
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(result.standardError.contains("tokenctl login work"))
            #expect(scene.issuer.requests(to: "/resource").count == 1)
        }

        @Test func `the token of a scope is refused, replaced and shown apart from the others`() async throws
        {
            let scene = try await Scene.loggedIn()
            let primary = try await scene.token()
            let narrow = try await scene.token("--scope", "api")
            #expect(narrow != primary)
            scene.issuer.forgetAccessTokens()
            scene.issuer.forgetRequests()
            let url = scene.issuer.issuer + "/resource"
            let result = try await scene.agent.tokenctl(["curl", "work", "--scope", "api", "--", "-s", url])
            #expect(result.status == 0)
            #expect(result.standardOutput.contains(#""scope":"api offline_access""#), "\(result)")
            #expect(scene.refreshes == 1)
            #expect(scene.issuer.requests(to: "/token").first?.form["scope"] == "api offline_access")
            let sent = scene.issuer.requests(to: "/resource").map(\.bearerToken)
            #expect(sent.first == narrow && sent.count == 2 && sent.last != primary)
            #expect(try await scene.token() == primary)
            #expect(try await scene.token("--scope", "api") == sent.last)
        }

        @Test(.holds("160", "232")) func `the token goes to no other host`() async throws {
            let scene = try await Scene.loggedIn()
            let other = try await DemoIssuer.start(DemoIssuer.Options())
            scene.issuer.queue(
                .redirect(to: other.issuer + "/resource"),
                for: "/resource"
            )
            let url = scene.issuer.issuer + "/resource"
            _ = try await scene.agent.tokenctl(["curl", "work", "--", "-s", "-L", url])
            let first = try #require(scene.issuer.requests(to: "/resource").first)
            #expect(first.bearerToken != nil)
            let second = try #require(other.requests(to: "/resource").first)
            #expect(second.bearerToken == nil)
        }

        @Test(.holds("37")) func `the token stands neither in arguments nor in the environment`() async throws
        {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            scene.issuer.queue(Disturbance(ending: .hang), for: "/resource")
            let url = scene.issuer.issuer + "/resource"
            let program = try scene.agent.startTokenctl(["curl", "work", "--", "-s", url])
            #expect(await scene.issuer.hasReceived(1, to: "/resource", within: .seconds(120)))
            let seen = try await scene.agent.shell(
                "for p in $(pgrep -P \(program.pid)) \(program.pid); do cat /proc/$p/cmdline /proc/$p/environ; done"
            )
            #expect(seen.standardOutput.contains("curl"))
            #expect(seen.standardOutput.contains(token) == false)
            program.signal(.terminate)
            #expect(try await program.finish().status == 143)
        }
    }
}
