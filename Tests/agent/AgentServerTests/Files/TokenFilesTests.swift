// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// The files that hold sessions' present tokens, with the clock moved by the test.
@Suite(.timeLimit(.minutes(10)))
struct TokenFilesTests {
    /// An agent that keeps a token of `work` in ``path(in:)``.
    private func agent(_ change: (inout TokenFileTarget) -> Void = { _ in }) async throws -> AgentHarness {
        try await AgentHarness.configured { configuration, directory in
            var outlet = TokenFileTarget(path: path(in: directory), session: AgentHarness.work)
            change(&outlet)
            TokenFileTarget.prepareDirectory(of: outlet.path)
            configuration.files = [outlet]
        }
    }

    private func path(in directory: TemporaryDirectory) -> String { directory.path("tokens/work") }

    private func text(_ agent: AgentHarness) -> String? { File.text(path(in: agent.directory)) }

    private func holds(_ text: String?, _ agent: AgentHarness) async throws -> Bool {
        try await Polling.until(within: .seconds(20)) { self.text(agent) == text }
    }

    @Test(.holds("240")) func `the token is in the file after a login, and is not after a logout`()
        async throws
    {
        let agent = try await agent()
        #expect(text(agent) == nil)
        try await agent.logIn()
        #expect(text(agent) == "token-1")
        #expect(File.mode(path(in: agent.directory)) == 0o600)
        #expect(agent.directory.names(in: "tokens") == ["work"])
        let body = #"{"local":true}"#
        #expect(try await agent.peer().exchange("POST", "/v1/sessions/work/logout", body: body).status == 200)
        #expect(agent.directory.names(in: "tokens") == [])
        // What one can see afterwards.
        let lines = try await agent.auditLines()
        let written = try #require(lines.first)
        #expect(written["decision"] == "served" && written["by"] == "agent")
        #expect(written["file"]?.string == path(in: agent.directory))
        await agent.stop()
    }

    @Test(
        .holds("240"),
        arguments: [
            (Duration.seconds(3600), Duration.seconds(600 + 60)), (.seconds(900), .seconds(300 + 60)),
            (.seconds(60), .seconds(20 + 6)),
        ]
    )
    func `another token is asked for before ten minutes or a third of its life are left`(
        lifetime: Duration,
        lead: Duration
    ) async throws {
        let agent = try await agent()
        try await agent.logIn(lifetime: lifetime)
        await agent.advance(by: lifetime - lead - .milliseconds(1))
        #expect(agent.serving.refreshCount == 0)
        await agent.advance(by: .milliseconds(2))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2", lifetime: lifetime)))
        #expect(try await holds("token-2", agent))
        // And so on.
        await agent.advance(by: lifetime - lead + .milliseconds(2))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-3", lifetime: lifetime)))
        #expect(try await holds("token-3", agent))
        await agent.stop()
    }

    @Test(.holds("240")) func `a token of other scopes is fetched, and kept fresh though nobody asks`()
        async throws
    {
        let mail = TokenVariant(scopes: ["mail"], audience: "https://mail.example")
        let agent = try await agent { $0.variant = mail }
        try await agent.logIn()
        for (number, delay) in [Duration.zero, .seconds(2_945)].enumerated() {
            await agent.advance(by: delay)
            let refresh = await agent.serving.nextRefresh()
            #expect(refresh.request.variant == mail)
            refresh.answer(.granted(try agent.granted("mail-\(number)")))
            #expect(try await holds("mail-\(number)", agent))
        }
        await agent.stop()
    }

    @Test func `one that the server gives no token for is a finding of the doctor`() async throws {
        let mail = TokenVariant(scopes: ["mail"], audience: nil)
        let agent = try await agent { $0.variant = mail }
        try await agent.logIn()
        let failure = RefreshFailure(kind: .variantRefused, code: "invalid_scope", message: "no such scope")
        await agent.serving.nextRefresh().answer(.failed(failure))
        let isFound = try await Polling.until {
            try await agent.peer().exchange("GET", "/v1/doctor").body.contains("no such scope")
        }
        #expect(isFound)
        await agent.stop()
    }

    @Test(.holds("240")) func `it is gone while the agent is locked, and back afterwards`() async throws {
        let agent = try await agent()
        try await agent.logIn()
        let peer = try agent.peer()
        #expect(try await peer.exchange("POST", "/v1/lock").status == 200)
        #expect(text(agent) == nil)
        #expect(
            try await peer.exchange("POST", "/v1/unlock", body: #"{"passphrase":"open sesame"}"#).status
                == 200
        )
        #expect(try await holds("token-1", agent))
        await agent.stop()
        #expect(agent.directory.names(in: "tokens") == [])
    }

    @Test(.holds("240")) func `a token that ends, or that a server refuses, does not stay`() async throws {
        let agent = try await agent()
        try await agent.logIn(lifetime: .seconds(100), isRenewable: false)
        #expect(text(agent) == "token-1")
        await agent.advance(by: .seconds(100))
        #expect(try await holds(nil, agent))
        try await agent.logIn(token: "token-2")
        let report = #"{"token":"token-2","status":401,"www_authenticate":"Bearer error=\"invalid_token\""}"#
        try agent.peer().send(SocketPeer.request("POST", "/v1/sessions/work/report", body: report))
        let refresh = await agent.serving.nextRefresh()
        #expect(try await holds(nil, agent))
        refresh.answer(.granted(try agent.granted("token-3")))
        #expect(try await holds("token-3", agent))
        await agent.stop()
    }

    @Test func `a token that could not be replaced goes when it ends`() async throws {
        let agent = try await agent()
        try await agent.logIn(lifetime: .seconds(600))
        #expect(text(agent) == "token-1")
        // No other file can be begun there.
        try agent.directory.makeDirectory("tokens/.work.new")
        await agent.advance(by: .seconds(600 - 260))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        #expect(try await Polling.until { agent.log.shown.contains { $0.hasPrefix("warning token file") } })
        #expect(text(agent) == "token-1")
        await agent.advance(by: .seconds(260))
        #expect(try await holds(nil, agent))
        let doctor = try await agent.peer().exchange("GET", "/v1/doctor").body
        #expect(doctor.contains("path or format of the [[file]]"))
        rmdir(agent.directory.path("tokens/.work.new"))
        await agent.advance(by: .seconds(31))
        #expect(try await holds("token-2", agent))
        await agent.stop()
    }

    @Test(.holds("240")) func `a failed refresh leaves it until it ends`() async throws {
        let agent = try await agent()
        try await agent.logIn(lifetime: .seconds(600))
        await agent.advance(by: .seconds(600 - 260))
        let failure = RefreshFailure(kind: .unreachable, message: "down")
        await agent.serving.nextRefresh().answer(.failed(failure))
        #expect(try await Polling.until { await agent.runtime.agent.admittedAttempts == 0 })
        #expect(text(agent) == "token-1")
        // No storm: the session's own backoff, a second here, holds.
        let count = agent.serving.refreshCount
        await agent.advance(by: .milliseconds(900))
        #expect(agent.serving.refreshCount == count)
        await agent.advance(by: .seconds(260))
        #expect(try await holds(nil, agent))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        #expect(try await holds("token-2", agent))
        await agent.stop()
    }

    @Test(.holds("240")) func `the end of the login takes it away, although the token is still good`()
        async throws
    {
        let agent = try await agent()
        try await agent.logIn(lifetime: .seconds(600))
        await agent.advance(by: .seconds(340))
        let over = RefreshFailure(kind: .interactionRequired, message: "over")
        await agent.serving.nextRefresh().answer(.failed(over))
        #expect(try await holds(nil, agent))
        let peer = try agent.peer()
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").body.contains("token-1"))
        #expect(text(agent) == nil)
        await agent.stop()
    }

    @Test(.holds("241")) func `links are replaced, not followed, and what somebody puts there stays`()
        async throws
    {
        let agent = try await agent()
        let path = path(in: agent.directory)
        let other = try agent.directory.write("mine", to: "other")
        symlink(other, path)
        try await agent.logIn()
        #expect(text(agent) == "token-1" && File.linkTarget(path) == nil)
        #expect(File.text(other) == "mine")
        // Beside it, as a file made after its end might get its number.
        try File.write("not yours", to: path + ".other")
        rename(path + ".other", path)
        let peer = try agent.peer()
        _ = try await peer.exchange("POST", "/v1/sessions/work/logout", body: #"{"local":true}"#)
        #expect(File.text(path) == "not yours")
        await agent.stop()
    }

    @Test(.holds("241"))
    func `a directory that others can write gets no token, and the log and the doctor say so`()
        async throws
    {
        let agent = try await agent()
        chmod(agent.directory.path("tokens"), 0o777)
        try await agent.logIn()
        #expect(text(agent) == nil && agent.directory.names(in: "tokens").isEmpty)
        let line = try #require(agent.log.shown.first { $0.hasPrefix("warning token file") })
        #expect(line.contains("reason=refusing the directory") && line.contains("others may write to it"))
        let doctor = try await agent.peer().exchange("GET", "/v1/doctor").body
        #expect(doctor.contains(#""name":"file""#) && doctor.contains("others may write to it"))
        // Once it is well, the token comes by itself.
        chmod(agent.directory.path("tokens"), 0o755)
        await agent.advance(by: .seconds(31))
        #expect(try await holds("token-1", agent))
        await agent.stop()
    }

    @Test func `a file goes where others can write by now, and a complaint goes with its reason`()
        async throws
    {
        let agent = try await agent()
        try await agent.logIn()
        chmod(agent.directory.path("tokens"), 0o777)
        try await agent.logIn(token: "token-2")
        func complains() async throws -> Bool {
            try await agent.peer().exchange("GET", "/v1/doctor").body.contains("others may write to it")
        }
        #expect(try await Polling.until { try await complains() })
        let body = #"{"local":true}"#
        #expect(try await agent.peer().exchange("POST", "/v1/sessions/work/logout", body: body).status == 200)
        #expect(agent.directory.names(in: "tokens") == [])
        // The next token could not be written.
        #expect(try await complains())
        chmod(agent.directory.path("tokens"), 0o755)
        await agent.advance(by: .seconds(31))
        #expect(try await Polling.until { try await !complains() })
        await agent.stop()
    }

    @Test func `a reload takes files over, removes others, and names what needs a restart`() async throws {
        let agent = try await agent()
        try await agent.logIn()
        let new = agent.directory.path("tokens/other")
        let absent = agent.directory.path("absent/token")
        agent.configuration.change { configuration in
            configuration.files = [
                TokenFileTarget(path: new, session: AgentHarness.work, form: .headersJSON),
                TokenFileTarget(path: absent, session: AgentHarness.work),
            ]
        }
        let answer = try await agent.peer().exchange("POST", "/v1/reload").body
        #expect(answer.contains("file \(absent)") && answer.contains("does not exist"), "\(answer)")
        #expect(!answer.contains("file \(new)"))
        #expect(try await Polling.until { File.text(new) == #"{"Authorization":"Bearer token-1"}"# })
        #expect(text(agent) == nil)
        agent.configuration.change { $0.files = [] }
        _ = try await agent.peer().exchange("POST", "/v1/reload")
        #expect(try await Polling.until { agent.directory.names(in: "tokens") == [] })
        await agent.stop()
    }
}
