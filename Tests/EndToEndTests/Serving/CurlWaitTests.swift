// SPDX-License-Identifier: MIT

import DemoIssuer
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// `tokenctl curl` at a server that refuses every token.
    @Suite struct CurlWaitTests {
        /// The agent keeps refreshes apart then.
        @Test func `why nothing happens for a while is said`() async throws {
            let scene = try await Scene.loggedIn()
            let refusal = ("WWW-Authenticate", "Bearer error=\"invalid_token\"")
            scene.issuer.add(Route(nil, "/never") { _ in IssuerReply(status: 401, headers: [refusal]) })
            let command = ["curl", "work", "--", "-s", "\(scene.issuer.issuer)/never"]
            let notice = "waiting for a "
            let first = try await scene.agent.tokenctl(command)
            #expect(!first.standardError.contains(notice), "\(first)")
            let second = try scene.agent.startTokenctl(command)
            #expect(
                try await Polling.until { second.standardError.contains(notice) },
                "\(second.standardError) \(second.exitStatus as Any) \(scene.agent.log)"
            )
            // There is no curl to pass it on to.
            second.signal(.interrupt)
            #expect(try await second.finish().status == 128 + SIGINT)
        }
    }
}
