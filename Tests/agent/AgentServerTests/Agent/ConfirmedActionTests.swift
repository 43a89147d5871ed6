// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import AgentServer

/// Confirmation prompts for actions other than getting a token, and the program that each answer applies to.
@Suite(.timeLimit(.minutes(10)))
struct ConfirmedActionTests {
    @Test(arguments: ["login", "logout"])
    func `a login and a logout ask as well`(action: String) async throws {
        let person = BusyPerson()
        let agent = try await ConfirmationTests.agent(person)
        let peer = try agent.peer()
        let request = SocketPeer.request("POST", "/v1/sessions/work/\(action)", body: "{}")
        try peer.send(request)
        let question = await person.nextQuestion()
        #expect(question.environment["TOKENAGENT_ACTION"] == action)
        #expect(question.environment["TOKENAGENT_QUESTION"]?.contains("log") == true)
        question.answer(.success(CommandResult(status: 1, standardOutput: [])))
        #expect(try await peer.answer().status == 403)
        #expect(agent.serving.logInCount == 1 && agent.serving.revocationCount == 0)
        #expect(try await agent.wholeAudit().last?["decision"] == "denied")
        try peer.send(request)
        await person.nextQuestion().answer(.success(CommandResult(status: 0, standardOutput: [])))
        if action == "login" {
            _ = await agent.serving.nextLogIn()
        } else {
            _ = await agent.serving.nextRevocation()
        }
        agent.stopSoon()
    }

    @Test(.holds("5")) func `the person's yes is for the program that was named`() async throws {
        let person = BusyPerson()
        let processes = ScriptedProcesses()
        processes.next(program: "/usr/bin/git", image: "1:1")
        let agent = try await AgentHarness.configured(commands: person, processes: processes) {
            configuration,
            _ in
            configuration.confirmCommand = ["ask"]
        }
        try await agent.logIn()
        agent.configuration.change { configuration in
            configuration.sessions[AgentHarness.work]?.rules = [AllowRule(asksForConfirmation: true)]
        }
        _ = try await agent.peer().exchange("POST", "/v1/reload")
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", ConfirmationTests.token))
        let question = await person.nextQuestion()
        #expect(question.environment["TOKENAGENT_PEER_EXE"] == "/usr/bin/git")
        processes.next(program: "/usr/bin/evil", image: "1:2")
        question.answer(.success(CommandResult(status: 0, standardOutput: [])))
        let answer = try await peer.answer()
        #expect(answer.status == 404 && !answer.body.contains("token-1"))
        await agent.stop()
    }

    @Test(arguments: ["token-1", "made-up"])
    func `a report through a further socket asks as well`(token: String) async throws {
        let person = BusyPerson()
        let agent = try await ConfirmationTests.agent(person)
        let peer = try SocketPeer(agent.directory.path("run/remote.sock"))
        let report = #"{"token":"\#(token)","status":401}"#
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/report", body: report))
        let answers = try await Polling.until(within: .seconds(20)) {
            person.count == 1 || agent.serving.refreshCount > 0
        }
        #expect(answers && person.count == 1)
        if person.count == 1 {
            await person.nextQuestion().answer(.success(CommandResult(status: 1, standardOutput: [])))
            let answer = try await peer.answer()
            #expect(answer.status == 403 && !answer.body.contains("token-1"))
        }
        #expect(agent.serving.refreshCount == 0)
        agent.stopSoon()
    }
}
