// SPDX-License-Identifier: MIT

import AgentProtocol
import TestSupport
import Testing
import TokenCore

@testable import AgentServer

/// The expiry of ID tokens in responses and in files, which is that of the ID token itself.
@Suite(.timeLimit(.minutes(10)))
struct IDTokenFileTests {
    private static let address = "/v1/sessions/work/token?kind=id"

    /// Returns an agent whose session has an access token valid for an hour and an ID token valid for 15 minutes.
    private func agent(form: TokenOutputFormat? = .token) async throws -> AgentHarness {
        let agent = try await AgentHarness.configured { configuration, directory in
            let outlet = TokenFileTarget(
                path: path(in: directory),
                session: AgentHarness.work,
                wantsIDToken: true,
                form: form
            )
            TokenFileTarget.prepareDirectory(of: outlet.path)
            configuration.files = [outlet]
        }
        try await agent.logIn(idToken: ("id-1", .seconds(900)))
        return agent
    }

    private func path(in directory: TemporaryDirectory) -> String { directory.path("tokens/work") }

    private func holds(_ text: String?, _ agent: AgentHarness) async throws -> Bool {
        try await Polling.until(within: .seconds(20)) { File.text(path(in: agent.directory)) == text }
    }

    @Test func `an answer tells the end of what it carries`() async throws {
        let agent = try await agent()
        let peer = try agent.peer()
        let id = try await peer.exchange("GET", Self.address).body
        #expect(id.contains(#""id_token":"id-1""#) && id.contains(#""expires_in":900"#), "\(id)")
        let access = try await peer.exchange("GET", "/v1/sessions/work/token").body
        #expect(access.contains(#""expires_in":3600"#), "\(access)")
        await agent.stop()
    }

    @Test func `an ID token that ends too soon waits for a refresh, and for one alone`() async throws {
        let agent = try await agent()
        await agent.advance(by: .seconds(880))
        // The token file has already requested the refresh.
        let refresh = await agent.serving.nextRefresh()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", Self.address))
        refresh.answer(
            .granted(try agent.granted("token-2", idToken: ("id-2", .seconds(900))))
        )
        #expect(try await peer.answer().body.contains("id-2"))
        #expect(agent.serving.refreshCount == 1)
        await agent.stop()
    }

    /// `bringsEnded`: `true` if the refresh returns an expired ID token, `false` if it returns none.
    @Test(arguments: [true, false])
    func `where no refresh brings another one, a login is what helps`(bringsEnded: Bool) async throws {
        let agent = try await agent()
        await agent.advance(by: .seconds(900))
        let granted =
            bringsEnded
            ? try agent.granted("token-2", idToken: ("id-2", .zero)) : try agent.granted("token-2")
        await agent.serving.nextRefresh().answer(.granted(granted))
        #expect(try await holds(nil, agent))
        let peer = try agent.peer()
        for _ in 0..<3 {
            let refused = try await peer.exchange("GET", Self.address)
            #expect(refused.status == 401)
            #expect(refused.body.contains(#""code":"login_required""#), "\(refused.body)")
            #expect(refused.body.contains(#""remedy":"tokenctl login work""#), "\(refused.body)")
            await agent.advance(by: .seconds(31))
        }
        #expect(agent.serving.refreshCount == 1)
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").body.contains("token-2"))
        let doctor = try await peer.exchange("GET", "/v1/doctor").body
        #expect(doctor.contains("ID token expired"), "\(doctor)")
        await agent.stop()
    }

    @Test func `a file's ID token is replaced before it ends, not before its access token does`() async throws
    {
        let agent = try await agent()
        #expect(File.text(path(in: agent.directory)) == "id-1")
        await agent.advance(by: .seconds(900 - 300 - 60) - .milliseconds(1))
        #expect(agent.serving.refreshCount == 0)
        await agent.advance(by: .milliseconds(2))
        await agent.serving.nextRefresh().answer(
            .granted(try agent.granted("token-2", idToken: ("id-2", .seconds(900))))
        )
        #expect(try await holds("id-2", agent))
        await agent.stop()
    }

    @Test func `a file says when its ID token ends`() async throws {
        let agent = try await agent(form: nil)
        let end = agent.time.wallTime.secondsSince1970 + 900
        #expect(try #require(File.text(path(in: agent.directory))).contains(#""expires_at":\#(end)"#))
        await agent.stop()
    }

    @Test func `a file's ID token that nothing replaces is gone when it ends`() async throws {
        let agent = try await agent()
        await agent.advance(by: .seconds(600))
        let down = RefreshFailure(kind: .unreachable, message: "down")
        await agent.serving.nextRefresh().answer(.failed(down))
        #expect(try await Polling.until { await agent.runtime.agent.admittedAttempts == 0 })
        #expect(File.text(path(in: agent.directory)) == "id-1")
        await agent.advance(by: .seconds(300))
        #expect(try await holds(nil, agent))
        await agent.stop()
    }
}
