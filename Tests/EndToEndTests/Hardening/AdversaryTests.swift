// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// A server that breaks the rules of OAuth and OpenID Connect, each test another way.
    @Suite(.full) struct AdversaryTests {
        /// Members of the metadata document that spoil it.
        static let documents: [JSONObject] = [
            ["issuer": "https://evil.example"], ["issuer": .null],
            ["token_endpoint": "http://id.example/token"],
            ["response_types_supported": ["token"]], ["code_challenge_methods_supported": ["plain"]],
            [
                "require_pushed_authorization_requests": true,
                "pushed_authorization_request_endpoint": .null,
            ],
        ]

        @Test(.holds("O1", "O2", "O3", "O31", "O34", "O52"), arguments: documents.indices)
        func `a login that the metadata makes unsafe is refused, and works when it is mended`(
            number: Int
        ) async throws {
            let scene = try await Scene({ $0.metadata = Self.documents[number] }, flow: "browser")
            try await scene.agent.start()
            let result = try await scene.agent.tokenctl("login", "work")
            #expect(result.status == 2, "\(result)")
            #expect(result.complainsInOneLine, "\(result.standardError)")
            #expect(scene.issuer.requests(to: "/authorize").isEmpty)
            #expect(scene.issuer.requests(to: "/token").isEmpty)
            // A document that is no document of this issuer is not remembered.
            let names = scene.issuer.settings.metadata.members.map(\.name)
            guard names.contains("issuer") || names.contains("token_endpoint") else { return }
            scene.issuer.settings.metadata = JSONObject()
            #expect(try await scene.agent.tokenctl("login", "work").status == 0)
        }

        @Test(.holds("O4")) func `a code of another transaction buys nothing`() async throws {
            let scene = try await Scene(flow: "browser")
            try await scene.agent.start()
            // The code is one the attacker got for a challenge of his own; the state is the victim's.
            let login = try await scene.agent.shell(
                Scene.pastedLogin(
                    """
                    other=$(printf '%s' "$url" | sed 's/code_challenge=[^&]*/code_challenge=\(Self.challenge)/')
                    [ "$other" != "$url" ] || exit 97
                    curl -s -o /dev/null -w '%{redirect_url}\\n' "$other" >&9
                    """
                )
            )
            #expect(login.status != 0 && login.status < 90, "\(login)")
            #expect(scene.issuer.tokenRequests("authorization_code") == 1)
            #expect(scene.issuer.livingRefreshTokens.isEmpty)
            #expect(try await scene.agent.tokenctl("get", "work").status == 4)
        }

        private static let challenge = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

        @Test(.holds("O60")) func `a code whose answer was lost is not shown again`() async throws {
            let scene = try await Scene(flow: "browser")
            try await scene.agent.start()
            scene.issuer.queue(Disturbance(ending: .reset(afterBytes: 0)))
            let result = try await scene.agent.tokenctl("login", "work")
            #expect(result.status == 5, "\(result)")
            #expect(scene.issuer.tokenRequests("authorization_code") == 1)
            #expect(try await scene.agent.tokenctl("get", "work").status == 4)
        }

        /// Claims and header members that make an ID token one that must not be believed.
        static let idTokens: [(claims: JSONObject, header: JSONObject)] = [
            (["iss": "https://evil.example"], [:]), (["aud": "other"], [:]), (["azp": "other"], [:]),
            (["exp": 1], [:]), (["nonce": "other"], [:]), (["sub": .null], [:]), (["at_hash": "AAAA"], [:]),
            ([:], ["alg": "none"]), ([:], ["alg": "HS256"]), ([:], ["kid": "other"]), ([:], ["crit": ["x"]]),
        ]

        @Test(.holds("O35", "O36", "O37", "O38", "O39", "O40", "O42", "O45"), arguments: idTokens.indices)
        func `no token of a login is used when its ID token is not believed`(number: Int) async throws {
            let bad = Self.idTokens[number]
            let scene = try await Scene(
                {
                    $0.idTokenClaims = bad.claims
                    $0.idTokenHeader = bad.header
                },
                flow: "browser"
            )
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("login", "work").status == 5)
            #expect(scene.issuer.tokenRequests("authorization_code") == 1)
            #expect(try await scene.agent.tokenctl("get", "work").status == 4)
        }

        @Test(.holds("O43")) func `a refresh for somebody else freezes the session`() async throws {
            let scene = try await Scene.loggedIn { $0.refreshBringsIDToken = true }
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            scene.issuer.settings.idTokenClaims["sub"] = "mallory"
            let result = try await scene.agent.tokenctl("refresh", "work")
            #expect(result.status == 4, "\(result)")
            #expect(result.complainsInOneLine && result.standardError.contains("subject"))
            #expect(try await scene.agent.status("work")["reason"] == "identity_changed")
            let sent = scene.refreshes
            #expect(try await scene.agent.tokenctl("get", "work").status == 4)
            #expect(scene.refreshes == sent)
        }

        @Test(.holds("O18", "O19")) func `200 members nobody knows and a token of 16 KiB are served`()
            async throws
        {
            let scene = try await Scene.loggedIn()
            let token = String(repeating: "t", count: 16 << 10)
            var answer: JSONObject = ["access_token": .string(token), "token_type": "BEARER"]
            for number in 0..<200 { answer["x\(number)"] = ["deep": [.integer(Int64(number))]] }
            scene.issuer.queue(.json(.object(answer)))
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            #expect(try await scene.token() == token)
        }

        @Test(.holds("O21")) func `a scope that was not granted is not shown, and cannot be had`()
            async throws
        {
            let scene = try await Scene.loggedIn { $0.knownScopes = ["openid", "offline_access"] }
            #expect(try await scene.agent.status("work")["scope"] == ["openid", "offline_access"])
            #expect(try await scene.agent.tokenctl("get", "work", "--scope", "api").status == 2)
            #expect(try await scene.token("--scope", "openid") != scene.token())
            #expect(try await scene.agent.status("work")["state"] == "ready")
        }

        @Test(.holds("O22", "O24")) func `each refresh shows the newest refresh token, and no scope`()
            async throws
        {
            let scene = try await Scene.loggedIn { $0.rotation = .strict }
            var issued: [String?] = []
            for _ in 0..<3 {
                issued.append(scene.issuer.livingRefreshTokens.first)
                #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            }
            let shown = scene.issuer.requests(to: "/token").filter { $0.form["refresh_token"] != nil }
            #expect(shown.map { $0.form["refresh_token"] } == issued)
            #expect(shown.allSatisfy { $0.form["scope"] == nil && $0.method == "POST" })
        }

        @Test(.holds("O15", "O16", "O28"))
        func `no address and no cookie holds a secret, and no parameter comes twice`() async throws {
            let scene = try await Scene.loggedIn { $0.rotation = .strict }
            var secrets = try await scene.wholeRun()
            let requests = scene.issuer.requests()
            secrets.formUnion(requests.compactMap { $0.form["refresh_token"] ?? $0.form["token"] })
            #expect(secrets.count > 5)
            for request in requests {
                let address = ([request.path] + request.query.fields.map(\.value)).joined(separator: " ")
                #expect(!secrets.contains { address.contains($0) }, "\(request.path)")
                #expect(request.header("cookie") == nil && request.header("referer") == nil)
                let names = (request.form.fields + request.query.fields).map(\.name)
                #expect(Set(names).count == names.count, "\(request.path): \(names)")
                #expect(request.basicCredentials == nil || request.form["client_secret"] == nil)
            }
        }

        @Test(.holds("O49")) func `a server that cannot revoke now is told again when it said`() async throws
        {
            let scene = try await Scene.loggedIn()
            let busy = IssuerResponse(status: 503, headers: [("Retry-After", "1")])
            // A server that cannot do it now is not asked about the access token as well.
            scene.issuer.queue(busy, for: "/revoke", times: 4)
            #expect(try await scene.agent.tokenctl("logout", "work").status == 5)
            #expect(try await scene.agent.tokenctl("get", "work").status == 4)
            #expect(
                try await Polling.until(within: .seconds(60)) { scene.issuer.livingRefreshTokens.isEmpty }
            )
            let hints = scene.issuer.requests(to: "/revoke").compactMap { $0.form["token_type_hint"] }
            #expect(hints.prefix(5) == Array(repeating: "refresh_token", count: 5)[...])
        }
    }
}
