// SPDX-License-Identifier: MIT

import SecretMemory
import Synchronization
import TestSupport
import Testing
import TokenCore

@testable import AgentServer

/// A keeper that joins its fleet's store, works with it and leaves it.
@Suite(.timeLimit(.minutes(10)))
struct ParticipationTests {
    @Test(.holds("267")) func `a record under an older key is sealed again as soon as it is taken over`()
        async throws
    {
        let memory = try SealedMemory()
        let fleet = FleetDouble(memory: memory, epoch: 2)
        fleet.write(login: 5, generation: 3, token: "token-1", epoch: 1)
        let agent = try await AgentHarness.sharing(fleet.port, memory: memory)
        #expect(try await Polling.until { fleet.recordEpoch == 2 })
        #expect(fleet.record?.generation == 3)
        #expect(try await Polling.until { try await agent.sharedToken() == "token-1" })
        await agent.stop()
    }

    @Test(.holds("267")) func `what a removed host has got meanwhile is spent too`() async throws {
        let memory = try SealedMemory()
        let fleet = FleetDouble(memory: memory)
        fleet.write(login: 5, generation: 0, token: "token-1")
        let agent = try await AgentHarness.adopting(from: fleet, memory: memory)
        fleet.holdLooks()
        let removal = try await agent.peer().exchange(
            "POST",
            "/v1/fleet/remove",
            body: "{\"host\":\"other\"}"
        )
        #expect(removal.status == 200, "\(removal.body)")
        // Its request was in flight.
        #expect(try await Polling.until { fleet.heldLooks == 1 })
        fleet.write(login: 5, generation: 1, token: "token-2")
        fleet.letLooksGo()
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-1")))
        #expect(try await Polling.until { fleet.record?.generation == 2 })
        #expect(fleet.record?.attempt.host == 1)
        await agent.stop()
    }

    @Test(.holds("267")) func `what a host with an older key has got first is spent too`() async throws {
        let memory = try SealedMemory()
        let fleet = FleetDouble(memory: memory, epoch: 2)
        fleet.write(login: 5, generation: 0, token: "token-1", epoch: 1)
        fleet.beginRefresh()
        let agent = try await AgentHarness.adopting(from: fleet, memory: memory)
        let refresher = try agent.peer()
        try refresher.send(SocketPeer.request("POST", "/v1/sessions/work/refresh"))
        let isWaiting = try await Polling.until {
            let status = try await agent.peer().exchange("GET", "/v1/sessions/work")
            return status.body.contains("\"refreshing\"")
        }
        #expect(isWaiting)
        fleet.write(login: 5, generation: 1, token: "token-2", epoch: 1)
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-1")))
        #expect(try await Polling.until { fleet.record?.generation == 2 })
        #expect(fleet.recordEpoch == 2)
        await agent.stop()
    }

    @Test func `a look that comes back after the host has left changes nothing`() async throws {
        let memory = try SealedMemory()
        let fleet = FleetDouble(memory: memory)
        fleet.write(login: 5, generation: 0, token: "token-1")
        let agent = try await AgentHarness.adopting(from: fleet, memory: memory)
        fleet.holdLooks()
        let refresher = try agent.peer()
        try refresher.send(SocketPeer.request("POST", "/v1/sessions/work/refresh"))
        #expect(try await Polling.until { fleet.heldLooks == 1 })
        let left = try await agent.peer().exchange(
            "POST",
            "/v1/sessions/work/logout",
            body: "{\"local\":true}"
        )
        #expect(left.status == 200, "\(left.body)")
        fleet.write(login: 5, generation: 1, token: "token-2")
        fleet.letLooksGo()
        // All consequences of the read have been handled by then.
        await agent.runtime.agent.endWork()
        #expect(await agent.runtime.agent.admittedAttempts == 0, "the place at the issuer is given back")
        #expect(try await agent.sharedToken() == nil)
        let status = try await agent.peer().exchange("GET", "/v1/sessions/work")
        #expect(status.body.contains("tokenctl fleet join work"), "\(status.body)")
        await agent.stop()
    }

    @Test func `a lock while the store is being opened does not spoil the next opening`() async throws {
        let memory = try SealedMemory()
        let fleet = FleetDouble(memory: memory)
        fleet.write(login: 5, generation: 0, token: "token-1")
        let (first, second) = (Gate(), Gate())
        let openings = Mutex(0)
        let isFirstOver = Mutex(false)
        var port = fleet.port
        port.open = { () async throws(FleetStoreError) in
            let number = openings.withLock { count -> Int in
                count += 1
                return count
            }
            await (number == 1 ? first : second).pass()
            guard number == 1 else { return fleet }
            isFirstOver.withLock { $0 = true }
            throw FleetStoreError(.unavailable, "too late")
        }
        let agent = try await AgentHarness.sharing(port, memory: memory)
        #expect(try await Polling.until { openings.withLock(\.self) == 1 })
        await agent.runtime.agent.lock()
        let unlock = #"{"passphrase":"open sesame"}"#
        #expect(try await agent.peer().exchange("POST", "/v1/unlock", body: unlock).status == 200)
        #expect(try await Polling.until { openings.withLock(\.self) == 2 })
        first.open()
        #expect(try await Polling.until { isFirstOver.withLock(\.self) })
        for _ in 0..<3 { #expect(try await agent.peer().exchange("GET", "/v1").status == 200) }
        second.open()
        #expect(try await Polling.until { try await agent.sharedToken() == "token-1" })
        #expect(openings.withLock(\.self) == 2)
        await agent.stop()
    }
}

/// Suspends callers of ``pass()`` until it is opened.
private final class Gate: Sendable {
    private let (passes, opening) = AsyncStream<Void>.makeStream()

    func pass() async { for await _ in passes {} }

    func open() { opening.finish() }
}

extension SessionAgent {
    /// Waits until the agent has finished all pending work.
    fileprivate func endWork() async { await parts.work.drain(within: .seconds(60)) }
}
