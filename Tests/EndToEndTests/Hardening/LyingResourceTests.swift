// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Protected resources that lie about themselves and about their server, beside an honest one.
    @Suite(.full) struct LyingResourceTests {
        /// A session at a lying resource, and a part of the error message.
        private static let lies = [
            "foreign": "is for issuer", "other": "is for", "moved": "names no issuer",
            "moved-document": "307", "moved-server": "308", "huge": "larger than 1 MiB",
            "large": "invalid scopes", "named": "does not accept tokens from", "plain": "https",
        ]

        /// Adds what the evil server says for the resource `name`: its document, and that of a server of its own.
        private func lie(
            _ name: String,
            at evil: DemoIssuer,
            document: IssuerResponse? = nil,
            changes: [String: JSONValue] = [:],
            server: IssuerResponse = .notFound
        ) {
            let address = "\(evil.issuer)/\(name)"
            let challenge = "Bearer resource_metadata=\"\(address)/document\""
            var members: JSONObject = [
                "resource": .string(address), "authorization_servers": [.string("\(evil.issuer)/as-\(name)")],
            ]
            for (member, value) in changes { members[member] = value }
            let reply = document ?? .json(.object(members))
            evil.add(
                Route(nil, "/\(name)") { _ in
                    IssuerResponse(status: 401, headers: [("WWW-Authenticate", challenge)])
                }
            )
            evil.add(Route(nil, "/\(name)/document") { _ in reply })
            evil.add(Route(nil, "/.well-known/oauth-authorization-server/as-\(name)") { _ in server })
        }

        private func lieAboutEverything(_ evil: DemoIssuer, _ honest: DemoIssuer, _ third: DemoIssuer) {
            let metadata: JSONValue = [
                "issuer": .string(honest.issuer), "token_endpoint": .string("\(honest.issuer)/token"),
                "authorization_endpoint": .string("\(evil.issuer)/authorize"),
            ]
            lie("foreign", at: evil, server: .json(metadata))
            lie("other", at: evil, changes: ["resource": .string("\(honest.issuer)/resource")])
            lie("moved-document", at: evil, document: .redirect(to: "\(third.issuer)/document", status: 307))
            lie("moved-server", at: evil, server: .redirect(to: "\(third.issuer)/server", status: 308))
            lie("huge", at: evil, document: IssuerResponse(body: Array(repeating: 0x20, count: 2 << 20)))
            let million = JSONValue.string(String(repeating: "s", count: 1_000_000))
            let evilServers: [String: JSONValue] = ["authorization_servers": [.string(evil.issuer)]]
            lie("large", at: evil, changes: evilServers.merging(["scopes_supported": [million]]) { $1 })
            lie("named", at: evil, changes: evilServers)
            lie("plain", at: evil, changes: ["authorization_servers": ["http://as.example"]])
        }

        @Test(.holds("193")) func `whatever a resource says, nothing of ours goes to anybody`() async throws {
            let scene = try await Scene(
                session: "client_secret = \"demo-secret-7f3a\"",
                client: "demo-confidential"
            )
            let (evil, third) = (try await DemoIssuer.start(), try await DemoIssuer.start())
            // Its own origin is no authorization server: that would be taken for its own.
            let mover = try await DemoIssuer.start()
            for path in ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"] {
                mover.add(Route("GET", path) { _ in .notFound })
            }
            mover.add(Route(nil, "/moved") { _ in .redirect(to: "\(third.issuer)/moved") })
            lieAboutEverything(evil, scene.issuer, third)
            var configuration = Scene.session(
                "work",
                scene.issuer,
                client: "demo-confidential",
                more: "client_secret = \"demo-secret-7f3a\""
            )
            for name in Self.lies.keys.sorted() {
                let home = name == "moved" ? mover : evil
                configuration +=
                    "[session.\(name)]\nresource = \"\(home.issuer)/\(name)\"\nclient_id = \"cli\"\n"
                guard name == "named" else { continue }
                configuration += "issuer = \"\(scene.issuer.issuer)\"\nclient_secret = \"demo-secret-7f3a\"\n"
            }
            try scene.agent.configure(configuration)
            try await scene.agent.start()
            try await scene.logIn()
            let token = try await scene.token()
            let before = scene.issuer.requests().count
            for (name, word) in Self.lies {
                let login = try await scene.agent.tokenctl("login", name)
                #expect(login.status != 0 && login.complainsInOneLine, "\(name): \(login)")
                #expect(login.standardError.contains(word), "\(name): \(login)")
                #expect(login.standardError.utf8.count < 2_000)
            }
            #expect(third.requests().isEmpty)
            #expect(scene.issuer.requests().count == before)
            for request in evil.requests() + mover.requests() {
                #expect(request.method == "GET" && request.body.isEmpty, "\(request)")
                #expect(request.header("authorization") == nil, "\(request)")
            }
            #expect(evil.requests(to: "/authorize").isEmpty)
            #expect(try await scene.token() == token)
            Attachment.record(
                "\(Self.lies.count) lies, 0 requests to others, 0 secrets",
                named: "figure"
            )
        }

        @Test(.holds("193")) func `a resource that names another issuer later gets nothing sent there`()
            async throws
        {
            let (home, evil) = (try await DemoIssuer.start(), try await DemoIssuer.start())
            let scene = try await Scene()
            func name(_ issuer: DemoIssuer) {
                let servers: [String: JSONValue] = ["authorization_servers": [.string(issuer.issuer)]]
                lie("mcp", at: home, changes: servers)
            }
            name(scene.issuer)
            try scene.agent.configure(
                """
                [session.work]
                resource = "\(home.issuer)/mcp"
                client_id = "demo-public"
                scopes = ["openid", "offline_access", "api"]

                """
            )
            try await scene.agent.start()
            let login = try await scene.agent.tokenctl("login", "work")
            try #require(login.status == 0, "\(login) \(scene.agent.log)")
            #expect(login.standardOutput.contains("sends you to \(scene.issuer.issuer)"), "\(login)")
            name(evil)
            let refused = try await scene.agent.tokenctl("refresh", "work")
            #expect(
                refused.status == 2 && refused.standardError.contains("tokenctl login work"),
                "\(refused)"
            )
            #expect(try await scene.agent.status("work")["state"]?.string == "suspended")
            // Also after a restart: what the login found is kept with it.
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 2)
            #expect(evil.requests().isEmpty)
            #expect(scene.refreshes == 0)
            // The user sees the new address and may accept it.
            let followed = try await scene.agent.tokenctl("login", "work")
            #expect(followed.status == 0 && followed.standardOutput.contains(evil.issuer), "\(followed)")
            #expect(evil.requests(to: "/token").allSatisfy { $0.form["refresh_token"] == nil })
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            #expect(evil.tokenRequests("refresh_token") == 1)
        }
    }
}
