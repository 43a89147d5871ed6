// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Issuers with hostile metadata, which may only select among values that `tokenctl add` knows.
    @Suite(.full) struct HostileAddTests {
        struct Hostile: CustomTestStringConvertible {
            let testDescription: String
            let metadata: JSONObject
            /// The exit status, or `nil` if the session is created anyway.
            let status: Int32?
        }

        private static let poison = "\u{1B}[2J\"\n[session.evil]\nclient_secret_command = [\"sh\"]"

        static let documents: [Hostile] = [
            Hostile(
                testDescription: "words with control characters",
                metadata: [
                    "scopes_supported": [.string(poison), "openid"],
                    "grant_types_supported": [.string(poison)],
                    "token_endpoint_auth_methods_supported": [.string(poison)],
                    "response_types_supported": ["code"], "service_documentation": .string(poison),
                ],
                status: nil
            ),
            Hostile(
                testDescription: "scopes that a shell would run",
                metadata: ["scopes_supported": ["$(id)", "`id`", "openid;id"]],
                status: nil
            ),
            Hostile(
                testDescription: "a thousand scopes",
                metadata: [
                    "scopes_supported": .array((0..<1000).map { .string("scope-\($0)") })
                ],
                status: nil
            ),
            Hostile(
                testDescription: "an endpoint with control characters",
                metadata: ["token_endpoint": .string("https://x/\(poison)")],
                status: 2
            ),
            Hostile(
                testDescription: "another issuer",
                metadata: ["issuer": .string("https://evil.example/" + poison)],
                status: 2
            ),
            Hostile(
                testDescription: "a plain endpoint",
                metadata: ["token_endpoint": "http://example.com/"],
                status: 2
            ),
            Hostile(
                testDescription: "an endpoint that is a file",
                metadata: ["device_authorization_endpoint": "file:///etc/passwd"],
                status: 2
            ),
            Hostile(
                testDescription: "no browser flow",
                metadata: ["response_types_supported": ["token"]],
                status: nil
            ),
        ]

        @Test(.holds("191"), arguments: documents)
        func `no text of an issuer reaches the file or the terminal`(hostile: Hostile) async throws {
            let scene = try await Scene({ $0.metadata = hostile.metadata })
            try await scene.agent.start()
            let result = try await scene.add("z", "--flow", "device")
            #expect(result.status == hostile.status ?? 0, "\(result)")
            let text = File.text(scene.sessionFile("z"))
            #expect((text != nil) == (hostile.status == nil))
            let all = result.standardOutput + result.standardError + (text ?? "")
            #expect(all.utf8.allSatisfy { $0 == 0x0A || (0x20..<0x7F).contains($0) }, "\(result)")
            #expect(result.standardOutput.split(separator: "\n").count <= 5)
            for word in ["evil", "$(", "`", "scope-"] {
                #expect(text?.contains(word) != true, "\(text ?? "")")
            }
            let check = try await scene.agent.tokenctl("config", "check")
            #expect(check.status == 0, "\(check)")
        }

        static let replies: [(IssuerResponse, Int32)] = [
            (.redirect(to: "http://127.0.0.1:1/.well-known/openid-configuration"), 5),
            (IssuerResponse(status: 200, body: Array(repeating: 0x20, count: (1 << 20) + 1)), 5),
            (.html("<html>Sign in to the network</html>"), 5), (IssuerResponse(status: 503), 5),
            (IssuerResponse(status: 404), 2), (IssuerResponse(status: 200, body: Array("[1]".utf8)), 2),
            (IssuerResponse(status: 200, body: Array("{\"issuer\":".utf8)), 2),
        ]

        @Test(.holds("191"), arguments: replies)
        func `an answer that is no metadata writes nothing`(reply: IssuerResponse, status: Int32) async throws
        {
            let scene = try await Scene()
            for place in ["openid-configuration", "oauth-authorization-server"] {
                scene.issuer.add(Route("GET", "/.well-known/\(place)") { _ in reply })
            }
            try await scene.agent.start()
            let result = try await scene.add("z")
            #expect(result.status == status, "\(result)")
            #expect(result.complainsInOneLine, "\(result.standardError)")
            let remedy = status == 5 ? "  Retry: after checking the URL of the issuer" : "  Set: --issuer to "
            #expect(result.standardError.contains(remedy), "\(result)")
            #expect(result.standardOutput.isEmpty)
            #expect(scene.sessionFiles.isEmpty)
        }

        @Test(.holds("191")) func `an issuer that never answers is waited for a while, and hinders nobody`()
            async throws
        {
            let scene = try await Scene.loggedIn()
            scene.issuer.queue(
                Disturbance(ending: .hang),
                for: "/.well-known/openid-configuration",
                times: 10
            )
            let adding = try scene.agent.startTokenctl([
                "add", "z", "--issuer", scene.issuer.issuer, "--client-id", "x",
            ])
            #expect(
                try await Polling.until {
                    !scene.issuer.requests(to: "/.well-known/openid-configuration").isEmpty
                }
            )
            #expect(try await !scene.token().isEmpty)
            let result = try await adding.finish()
            #expect(result.status == 5 && result.complainsInOneLine, "\(result)")
            #expect(scene.sessionFiles.isEmpty)
        }

        @Test(
            .holds("191"),
            .enabled(if: OtherUser.canRunPrograms, "only root can become a user who may run our programs")
        )
        func `the agent connects for its own user alone`() async throws {
            let scene = try await ForeignScene.ready(more: "[agent]\nallow_root = true")
            let body = #"{"issuer":"\#(scene.issuer.issuer)"}"#
            let reply = try await scene.agent.socket.request("POST", "/v1/examine", body: body)
            #expect(reply.status == 403, "\(reply.text)")
            #expect(scene.issuer.requests().isEmpty)
        }
    }
}
