// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Many clients whose token expired at once, for each kind of server.
    ///
    /// One herd at a time: one of 200 clients is four hundred processes.
    @Suite(.full, .serialized) struct CurlHerdTests {
        /// The herd of each further kind: how many there may be is shown with a standard server.
        private let size = 200

        @Test func `200 refused clients of a standard server cost one refresh`() async throws {
            let scene = try await Scene.loggedIn()
            scene.issuer.forgetAccessTokens()
            let herd = CurlHerd(
                size: 200,
                agent: scene.agent,
                issuer: scene.issuer,
                session: "work",
                path: "/resource"
            )
            let results = try await herd.run()
            #expect(results == ["0 200": 200])
            #expect(scene.refreshes == 1)
            #expect(scene.issuer.requests(to: "/resource").count == 400)
        }

        @Test(arguments: [MobileBackEnd.Style.signaling, .ecall])
        func `many refused clients of a mobile back end cost one refresh`(
            style: MobileBackEnd.Style
        ) async throws {
            let backEnd = MobileBackEnd(style)
            let scene = try await KindScene.json(backEnd)
            try await scene.logIn()
            // Their own clocks may differ: here the back end's is ahead.
            backEnd.advance(by: backEnd.settings.accessLifetime)
            let results = try await scene.herd(size, path: backEnd.resourcePath).run()
            #expect(results == ["0 200": size])
            #expect(backEnd.refreshes == 1)
            #expect(scene.issuer.requests(to: backEnd.refreshPath).count == 1)
            #expect(scene.issuer.requests(to: backEnd.resourcePath).count == 2 * size)
        }

        @Test func `many refused clients of a user pool cost one refresh`() async throws {
            let double = try CognitoDouble(
                clients: [CognitoDouble.Client(id: "cli")],
                users: [CognitoDouble.User(name: "alice", password: "alice-password")]
            )
            let scene = try await KindScene.cognito(double)
            try await scene.logIn()
            let expired = try await scene.get().line
            scene.issuer.add(
                Route("GET", "/orders") { request in
                    request.bearerToken == expired
                        ? .json(["error": "access_token_expired"], status: 401) : .json(["orders": 3])
                }
            )
            scene.issuer.forgetRequests()
            let results = try await scene.herd(size, path: "/orders").run()
            #expect(results == ["0 200": size])
            #expect(scene.issuer.requests(to: "/").count == 1)
            #expect(scene.issuer.requests(to: "/orders").count == 2 * size)
        }
    }
}
