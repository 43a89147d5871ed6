// SPDX-License-Identifier: MIT

import DemoIssuer
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// `tokenctl curl` at a server that refuses every token.
    @Suite struct CurlWaitTests {
        /// The refresh that brings another token takes longer than a moment.
        @Test func `why nothing happens for a while is said`() async throws {
            let scene = try await Scene.loggedIn()
            let refusal = ("WWW-Authenticate", "Bearer error=\"invalid_token\"")
            scene.issuer.add(Route(nil, "/never") { _ in IssuerResponse(status: 401, headers: [refusal]) })
            scene.issuer.queue(Disturbance(isHeld: true, grantType: "refresh_token"))
            let command = ["curl", "work", "--", "-s", "\(scene.issuer.issuer)/never"]
            let notices = [
                "tokenctl: the server rejected the token; waiting for a new one\n",
                "tokenctl: waiting for a token\n",
            ]
            // The first waits for what its refusal asks for, the second for its first token.
            for notice in notices {
                let curl = try scene.agent.startTokenctl(command)
                #expect(
                    try await Polling.until { curl.standardError == notice },
                    "\(curl.standardError) \(scene.agent.log)"
                )
                // There is no curl to pass it on to.
                curl.signal(.interrupt)
                #expect(try await curl.finish().status == 128 + SIGINT)
            }
        }

        @Test func `a command at a terminal says that it waits, and nowhere else`() async throws {
            let scene = try await Scene.loggedIn()
            scene.issuer.queue(Disturbance(isHeld: true, grantType: "refresh_token"))
            let command = [BuiltPrograms.client, "refresh", "work"]
            let terminal = try ProgramAtTerminal(command, environment: scene.agent.environment)
            #expect(try await terminal.shows("tokenctl: waiting for the agent"), "\(terminal.screen)")
            let script = try scene.agent.startTokenctl(["refresh", "work"])
            scene.issuer.release()
            #expect(try await script.finish().standardError.isEmpty)
        }
    }
}
