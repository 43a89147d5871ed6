// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

@testable import AgentServer

/// A store that opens by itself, but not at once.
@Suite struct OpeningTests {
    private func json(_ answer: SocketPeer.Answer) throws -> JSONObject {
        try #require(try JSONValue(parsing: Array(answer.body.utf8)).object)
    }

    private func agent(_ file: KeyFile) async throws -> AgentHarness {
        try await AgentHarness(prepare: { store, _ in
            store.lock(behind: file)
            store.lose(AgentHarness.work, .recordUnreadable, message: "kept aside as 1.bad")
        })
    }

    @Test func `while the store opens the agent says that it is there, and requests wait`() async throws {
        let file = KeyFile()
        let agent = try await agent(file)
        let waiting = try agent.peer()
        try waiting.send(SocketPeer.request("GET", "/v1/sessions/work"))
        let peer = try agent.peer()
        let status = try json(await peer.exchange("GET", "/v1"))
        #expect(status["locked"]?.bool == false)
        #expect(status["sessions"]?.integer == 2)
        #expect(try await Polling.until { await agent.runtime.agent.waitingArrivals == 1 })
        file.arrive(right: true)
        #expect(try json(await waiting.answer())["reason"]?.string == "record_unreadable")
        #expect(await agent.runtime.waitUntilOpened())
        #expect(await agent.runtime.agent.waitingArrivals == 0)
        await agent.stop()
    }

    @Test func `a store that does not open leaves the agent locked, and those who waited are told`()
        async throws
    {
        let file = KeyFile()
        let agent = try await agent(file)
        let waiting = try agent.peer()
        try waiting.send(SocketPeer.request("GET", "/v1/sessions/work/token"))
        #expect(try await Polling.until { await agent.runtime.agent.waitingArrivals == 1 })
        file.arrive(right: false)
        #expect(try await waiting.answer().status == 423)
        #expect(await !agent.runtime.waitUntilOpened())
        let peer = try agent.peer()
        #expect(try json(await peer.exchange("GET", "/v1"))["locked"]?.bool == true)
        let unlocked = try await peer.exchange("POST", "/v1/unlock", body: #"{"passphrase":"open sesame"}"#)
        #expect(unlocked.status == 200)
        #expect(try await peer.exchange("GET", "/v1/sessions/work").status == 200)
        await agent.stop()
    }

    @Test func `what delivers no key yet is asked again, until it delivers a wrong one`() async throws {
        let file = KeyFile()
        let agent = try await agent(file)
        let notYet = StoreAccessError.failed("the command pass delivered no key", mayPass: true)
        file.arrive(notYet)
        #expect(await !agent.runtime.waitUntilOpened())
        await agent.advance(by: .seconds(19))
        #expect(file.reads == 1)
        await agent.advance(by: .seconds(1))
        #expect(try await Polling.until { file.reads == 2 })
        file.arrive(notYet)
        await agent.advance(by: .seconds(60))
        #expect(try await Polling.until { file.reads == 3 })
        file.arrive(right: false)
        #expect(try await Polling.until { await agent.runtime.agent.reopening == nil })
        let peer = try agent.peer()
        #expect(try json(await peer.exchange("GET", "/v1"))["locked"]?.bool == true)
        await agent.advance(by: .seconds(3_600))
        #expect(file.reads == 3)
        await agent.stop()
    }

    @Test func `what delivers the key later opens the store`() async throws {
        let file = KeyFile()
        let agent = try await agent(file)
        file.arrive(.passphraseLeft("the command pass delivered no key", remedy: nil, mayPass: true))
        #expect(await !agent.runtime.waitUntilOpened())
        await agent.advance(by: .seconds(20))
        file.arrive(right: true)
        let peer = try agent.peer()
        #expect(
            try await Polling.until { try await json(peer.exchange("GET", "/v1"))["locked"]?.bool == false }
        )
        #expect(try await peer.exchange("GET", "/v1/sessions/work").status == 200)
        await agent.stop()
    }

    @Test func `a lock while a key is fetched is not undone when it comes`() async throws {
        let file = KeyFile()
        let agent = try await agent(file)
        #expect(try await Polling.until { file.reads == 1 })
        await agent.runtime.agent.lock()
        file.arrive(right: true)
        #expect(await !agent.runtime.waitUntilOpened())
        let peer = try agent.peer()
        #expect(try json(await peer.exchange("GET", "/v1"))["locked"]?.bool == true)
        await agent.advance(by: .seconds(3_600))
        #expect(file.reads == 1)
        await agent.stop()
    }

    @Test func `a stop while the store opens answers those who wait`() async throws {
        let file = KeyFile()
        let agent = try await agent(file)
        let waiting = try agent.peer()
        try waiting.send(SocketPeer.request("GET", "/v1/sessions/work/token"))
        #expect(try await Polling.until { await agent.runtime.agent.waitingArrivals == 1 })
        async let stopped: Void = agent.stop()
        #expect(try await waiting.answer().status == 503)
        file.arrive(right: true)
        await stopped
    }

    @Test func `who leaves while the store opens is forgotten`() async throws {
        let file = KeyFile()
        let agent = try await agent(file)
        do {
            let leaving = try agent.peer()
            try leaving.send(SocketPeer.request("GET", "/v1/sessions/work/token"))
            #expect(try await Polling.until { await agent.runtime.agent.waitingArrivals == 1 })
        }
        #expect(try await Polling.until { await agent.runtime.agent.waitingArrivals == 0 })
        file.arrive(right: true)
        #expect(await agent.runtime.waitUntilOpened())
        await agent.stop()
    }
}
