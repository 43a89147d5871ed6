// SPDX-License-Identifier: MIT

import Synchronization
import TestSupport
import Testing
import TokenCore

@testable import AgentServer

/// The result of a login as the page in the browser shows it.
@Suite(.timeLimit(.minutes(10)))
struct LoginEndingTests {
    private final class Page: Sendable {
        private let endings = Mutex<[LoginResultForBrowser]>([])
        var shown: [LoginResultForBrowser] { endings.withLock { $0 } }
        func show(_ ending: LoginResultForBrowser) { endings.withLock { $0.append(ending) } }
    }

    /// A login that has begun, with a page that waits for its end.
    private func begin(
        _ agent: AgentHarness
    ) async throws -> (peer: SocketPeer, call: FakeServing.LogIn, page: Page) {
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/login", body: "{}"))
        let call = await agent.serving.nextLogIn()
        let page = Page()
        await call.request.1.whenEnded { page.show($0) }
        _ = try await peer.streamHead()
        return (peer, call, page)
    }

    @Test func `a login that is durable is shown with its account`() async throws {
        let agent = try await AgentHarness()
        let (peer, call, page) = try await begin(agent)
        #expect(page.shown.isEmpty)
        call.answer(
            .granted(
                LoginGrant(
                    tokens: try agent.granted("token-1"),
                    renewal: .impossible,
                    tokenEndpoint: "https://id.example/token",
                    account: "alice"
                )
            )
        )
        #expect(try await peer.chunk().contains("\"done\""))
        #expect(try await Polling.until { page.shown.count == 1 })
        let ending = page.shown[0]
        #expect(ending.session == "work" && ending.account == "alice" && ending.failure == nil)
        #expect(!ending.server.isEmpty)
        await agent.stop()
    }

    @Test func `a code that the server refuses is a failure with its reason`() async throws {
        let agent = try await AgentHarness()
        let (peer, call, page) = try await begin(agent)
        call.answer(
            .failed(
                RefreshFailure(kind: .interactionRequired, code: "invalid_grant", message: "code used twice")
            )
        )
        #expect(try await peer.chunk().contains("code used twice"))
        #expect(try await Polling.until { page.shown.count == 1 })
        #expect(page.shown[0].failure?.message.contains("code used twice") == true)
        #expect(page.shown[0].account == nil)
        await agent.stop()
    }

    @Test(arguments: [("invalid_scope", "scopes"), ("invalid_target", "resources and audience")])
    func `a login whose scopes or resources the server rejects names the key to change`(
        code: String,
        key: String
    ) async throws {
        let agent = try await AgentHarness()
        let (peer, call, page) = try await begin(agent)
        call.answer(.failed(RefreshFailure(kind: .variantRefused, code: code, message: "not allowed")))
        let remedy = "\(key) of [session.work] to those that the server grants, then run tokenctl login work"
        #expect(try await peer.chunk().contains(remedy))
        #expect(try await Polling.until { page.shown.count == 1 })
        #expect(page.shown[0].failure?.remedy == .set(remedy))
        await agent.stop()
    }

    @Test func `a login that another one supersedes does not advise to end that one`() async throws {
        let agent = try await AgentHarness()
        let (first, call, page) = try await begin(agent)
        let (second, newer, _) = try await begin(agent)
        #expect(try await first.chunk().contains("superseded by another login or logout"))
        #expect(try await Polling.until { page.shown.count == 1 })
        #expect(page.shown[0].failure?.remedy == .see("tokenctl status work"))
        call.answer(.cancelled)
        newer.answer(.cancelled)
        second.leave()
        await agent.stop()
    }

    @Test(arguments: [
        ("code used twice.", "code used twice"), ("code used twice", "code used twice"),
        ("the request was cut...", "the request was cut..."), ("", "no reason was given"), (".", ""),
    ])
    func `a message loses its full stop, and no other dots`(text: String, shown: String) {
        #expect(RequestFailure.clause(text) == shown)
    }

    @Test func `a login that is cancelled or refused meanwhile has an end too`() async throws {
        let agent = try await AgentHarness()
        let (peer, first, page) = try await begin(agent)
        async let lock: Void = agent.runtime.agent.lock()
        #expect(try await Polling.until { page.shown.count == 1 })
        #expect(page.shown[0].failure?.message.contains("locked") == true, "\(page.shown)")
        // The login has ended, so a later request gets the result at once.
        let late = Page()
        await first.request.1.whenEnded { late.show($0) }
        #expect(late.shown.count == 1 && late.shown[0].failure != nil)
        first.answer(.cancelled)
        await lock
        peer.leave()
        await agent.stop()
    }
}
