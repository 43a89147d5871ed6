// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Tokens that are bound to a key in the agent (RFC 9449).
    @Suite struct ProofTests {
        private static func bound(_ change: (inout IssuerSettings) -> Void = { _ in }) async throws -> Scene {
            try await Scene.loggedIn(
                {
                    $0.dpop = .required
                    change(&$0)
                },
                session: "dpop = true"
            )
        }

        /// The status that `tokenctl curl` gets at the issuer's resource.
        private func resource(_ scene: Scene) async throws -> String {
            let arguments = [
                "-s", "-o", "/dev/null", "-w", "%{http_code}", "\(scene.issuer.issuer)/resource",
            ]
            return try await scene.agent.tokenctl(["curl", "work", "--"] + arguments).standardOutput
        }

        @Test(.holds("102"))
        func `a session whose tokens are bound to a key lives through refreshes, a restart and nonces`()
            async throws
        {
            let scene = try await Self.bound { $0.demandsDPoPNonce = true }
            let token = try await scene.token()
            let key = try #require(scene.issuer.keyThumbprint(of: token))
            #expect(try await !scene.isAccepted(token))
            #expect(try await resource(scene) == "200")
            for _ in 0..<3 { #expect(try await scene.agent.tokenctl("refresh", "work").status == 0) }
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(try await resource(scene) == "200")
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            let renewed = try await scene.token()
            #expect(renewed != token)
            #expect(scene.issuer.keyThumbprint(of: renewed) == key)
            #expect(try await resource(scene) == "200")
            let proofs = scene.issuer.requests(to: "/token").compactMap { $0.header("dpop") }
            #expect(Set(proofs).count == proofs.count)
            #expect(proofs.count == scene.issuer.requests(to: "/token").count)
            Attachment.record("\(proofs.count) requests, each with a proof of its own", named: "figure")
        }

        @Test(.holds("102"))
        func `a server that always wants another nonce gets two requests and ends nothing`()
            async throws
        {
            let scene = try await Self.bound()
            let before = scene.issuer.requests(to: "/token").count
            scene.issuer.settings.refusesEveryNonce = true
            let result = try await scene.agent.tokenctl("refresh", "work")
            #expect(result.status == 5, "\(result.standardError)")
            let sent = scene.issuer.requests(to: "/token").count - before
            #expect(sent == 2)
            #expect(try await scene.agent.status("work")["state"] == "retrying")
            scene.issuer.settings.refusesEveryNonce = false
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            Attachment.record("\(sent) requests", named: "figure")
        }

        @Test(.holds("O55")) func `a server that binds nothing logs nobody in`() async throws {
            let scene = try await Scene(
                {
                    $0.dpop = .allowed
                    $0.ignoresProofs = true
                },
                session: "dpop = true"
            )
            try await scene.agent.start()
            let result = try await scene.agent.tokenctl(
                ["login", "work", "--username", "alice", "--password-stdin"],
                input: "alice-password\n"
            )
            #expect(result.status != 0)
            #expect(
                result.standardError.contains("token_type in the response is Bearer, not DPoP"),
                "\(result.standardError)"
            )
            #expect(try await scene.agent.tokenctl("get", "work").status == 4)
        }

        @Test func `a refresh that binds nothing costs neither the login nor the reason`() async throws {
            let scene = try await Self.bound()
            scene.issuer.settings.rotation = .strict
            scene.issuer.settings.dpop = .allowed
            scene.issuer.settings.ignoresProofs = true
            for _ in 0..<2 {
                let result = try await scene.agent.tokenctl("refresh", "work")
                #expect(result.status == 2, "\(result)")
                #expect(result.standardError.contains("dpop = false"), "\(result.standardError)")
            }
            let status = try await scene.agent.status("work")
            #expect(status["state"] == "suspended")
            #expect(
                status["message"]?.string?.contains("token_type in the response is Bearer, not DPoP") == true
            )
            scene.issuer.settings.ignoresProofs = false
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
        }

        @Test func `a server that demands a key is refused until the session has one`() async throws {
            let scene = try await Scene({ $0.dpop = .required })
            try await scene.agent.start()
            let login = ["login", "work", "--username", "alice", "--password-stdin"]
            let result = try await scene.agent.tokenctl(login, input: "alice-password\n")
            #expect(result.status == 2, "\(result)")
            #expect(result.complainsInOneLine, "\(result.standardError)")
        }

        @Test(.holds("O53")) func `token and proof are printed for one request of another client`()
            async throws
        {
            let scene = try await Self.bound()
            let url = scene.issuer.issuer + "/resource"
            let curl = "curl -s -o /dev/null -w '%{http_code}' -H @- '\(url)'"
            let header = "tokenctl get work --format header --dpop-url"
            #expect(try await scene.agent.shell("\(header) '\(url)' | \(curl)").line == "200")
            // The proof is for that request and no other.
            #expect(try await scene.agent.shell("\(header) '\(url)/x' | \(curl)").line == "401")
            let other = "\(header) '\(url)' --dpop-method POST | \(curl)"
            #expect(try await scene.agent.shell(other).line == "401")
        }

        @Test func `a session without a key says what to do`() async throws {
            let scene = try await Scene.loggedIn()
            let result = try await scene.agent.tokenctl(
                ["get", "work", "--format", "json", "--dpop-url", "https://api.example/"]
            )
            #expect(result.status == 2, "\(result)")
            #expect(result.standardError.contains("dpop = true"))
            #expect(result.standardOutput.isEmpty)
        }

        @Test(.holds("O52")) func `what is bound is a browser's login too`() async throws {
            let scene = try await Scene(
                {
                    $0.dpop = .required
                    $0.requiresPushedRequests = true
                },
                session: "dpop = true",
                flow: "browser"
            )
            try await scene.agent.start()
            let result = try await scene.agent.tokenctl("login", "work")
            #expect(result.status == 0, "\(result) \(scene.agent.log)")
            #expect(try await resource(scene) == "200")
            let opened = try #require(scene.issuer.requests(to: "/authorize").first)
            #expect(Set(opened.query.fields.map(\.name)) == ["client_id", "request_uri"])
            #expect(scene.issuer.requests(to: "/par").first?.form["dpop_jkt"] != nil)
            // A reference is good once.
            let url =
                "\(scene.issuer.issuer)/authorize?client_id=demo-public&request_uri="
                + (opened.query["request_uri"] ?? "")
            let again = try await scene.agent.shell("curl -s -o /dev/null -w '%{http_code}' '\(url)'")
            #expect(again.line == "400")
        }
    }
}
