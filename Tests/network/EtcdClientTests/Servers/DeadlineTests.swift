// SPDX-License-Identifier: MIT

import ServerSettings
import Synchronization
import TestSupport
import Testing

@testable import EtcdClient

/// A call ends at its deadline, whatever its token is waiting for.
@Suite struct DeadlineTests {
    private static let header = #""header":{"cluster_id":"1","member_id":"2","revision":"3"}"#

    private static func failure(
        of client: EtcdClient,
        within limit: Duration
    ) async -> (EtcdFailure?, Duration) {
        let began = ContinuousClock.now
        do throws(EtcdFailure) {
            _ = try await client.range(EtcdKeyRange(key: [0x61]), within: limit)
            return (nil, ContinuousClock.now - began)
        } catch {
            return (error, ContinuousClock.now - began)
        }
    }

    @Test func `a password that does not come holds no call beyond its time`() async throws {
        let server = try StreamingServer { _, peer in peer.answer(200, "{\(Self.header)}") }
        let endpoint = try #require(EtcdEndpoint("http://127.0.0.1:\(server.port)"))
        let never = AsyncStream<Void>.makeStream()
        let user = EtcdCredentials.User(name: "keeper") { () throws(EtcdFailure) in
            for await _ in never.stream {}
            return []
        }
        let client = try EtcdClient([endpoint], EtcdCredentials(user: user), on: .testing)
        try await client.whileOpen { client async throws in
            let (failure, time) = await Self.failure(of: client, within: .milliseconds(200))
            #expect(failure?.mayHaveActed == false, "\(String(describing: failure))")
            #expect(time < .seconds(20))
            #expect(server.requests.isEmpty)
            never.continuation.finish()
        }
    }

    @Test func `a slow password leaves the call the rest of its time only`() async throws {
        let server = try StreamingServer { request, peer in
            guard request.target == "/v3/auth/authenticate" else { return peer.waitUntilLeft() }
            peer.answer(200, #"{\#(Self.header),"token":"t.1"}"#)
        }
        let endpoint = try #require(EtcdEndpoint("http://127.0.0.1:\(server.port)"))
        let began = ContinuousClock.now
        let user = EtcdCredentials.User(name: "keeper") { () throws(EtcdFailure) in
            _ = try? await Polling.until { ContinuousClock.now - began > .seconds(2) }
            return [0x70]
        }
        let client = try EtcdClient([endpoint], EtcdCredentials(user: user), on: .testing)
        try await client.whileOpen { client async throws in
            let (failure, time) = await Self.failure(of: client, within: .seconds(6))
            #expect(failure == .unanswered("timed out waiting for a response"))
            #expect(time < .milliseconds(7800), "\(time)")
        }
    }

    @Test func `who waits for another call's token waits no longer than its own time`() async throws {
        let server = try StreamingServer { _, peer in peer.waitUntilLeft() }
        let endpoint = try #require(EtcdEndpoint("http://127.0.0.1:\(server.port)"))
        let user = EtcdCredentials.User(name: "keeper") { () throws(EtcdFailure) in [0x70] }
        let client = try EtcdClient([endpoint], EtcdCredentials(user: user), on: .testing)
        try await client.whileOpen { client async throws in
            let first = Task { await Self.failure(of: client, within: .seconds(3)) }
            #expect(try await Polling.until { server.requests.count == 1 })
            let (failure, time) = await Self.failure(of: client, within: .milliseconds(200))
            #expect(failure != nil && time < .seconds(2), "\(time)")
            _ = await first.value
        }
    }

    @Test func `a change that found no connection has changed nothing`() async throws {
        // It takes the bytes of the handshake, and says nothing.
        let server = try StreamingServer { _, peer in peer.waitUntilLeft() }
        let endpoint = try #require(EtcdEndpoint("https://127.0.0.1:\(server.port)"))
        try await EtcdClient([endpoint], EtcdCredentials(), on: .testing).whileOpen { client async throws in
            do throws(EtcdFailure) {
                _ = try await client.transact(EtcdTransaction(if: [], then: []), within: .milliseconds(300))
                Issue.record("somebody has answered")
            } catch {
                #expect(error == .unreachable("connection timed out"))
            }
        }
    }

    @Test func `who needs a token at the same time, also another one, asks for it once`() async throws {
        let server = try StreamingServer { request, peer in
            let body = request.target == "/v3/auth/authenticate" ? #","token":"t.1""# : ""
            peer.answer(200, "{\(Self.header)\(body)}")
        }
        let endpoint = try #require(EtcdEndpoint("http://127.0.0.1:\(server.port)"))
        let user = EtcdCredentials.User(name: "keeper") { () throws(EtcdFailure) in [0x70] }
        let client = try EtcdClient([endpoint], EtcdCredentials(user: user), on: .testing)
        try await client.whileOpen { client async throws in
            for round in 1...2 {
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<20 {
                        group.addTask { _ = await Self.failure(of: client, within: .seconds(20)) }
                    }
                }
                let asked = server.requests.filter { $0.target == "/v3/auth/authenticate" }
                #expect(asked.count == round && server.requests.count == 21 * round)
                await client.forget("t.1")
            }
        }
    }

    @Test func `calls at once share a few connections`() async throws {
        let held = Mutex<[StreamingServer.Peer]?>([])
        let server = try StreamingServer { _, peer in
            if held.withLock({ $0?.append(peer) }) == nil { peer.answer(200, "{\(Self.header)}") }
        }
        let endpoint = try #require(EtcdEndpoint("http://127.0.0.1:\(server.port)"))
        let most = GatewayClients.connections
        try await EtcdClient([endpoint], EtcdCredentials(), on: .testing).whileOpen { client async throws in
            try await withThrowingTaskGroup(of: EtcdFailure?.self) { group in
                for _ in 0..<5 * most {
                    group.addTask { await Self.failure(of: client, within: .seconds(60)).0 }
                }
                #expect(try await Polling.until { held.withLock { $0?.count == most } })
                for peer in held.withLock({ $0.take() }) ?? [] { peer.answer(200, "{\(Self.header)}") }
                for try await failure in group {
                    // On a busy machine some do not get their turn.
                    #expect(failure == nil || failure == .unreachable("connection timed out"))
                }
            }
            // They are free again, also where all who waited had given up.
            #expect(await Self.failure(of: client, within: .seconds(60)).0 == nil)
            #expect(server.connections <= most && server.requests.count > most)
        }
    }

    @Test func `a key that was not asked for is no answer`() async throws {
        let server = try StreamingServer { _, peer in
            peer.answer(200, #"{\#(Self.header),"kvs":[{"key":"Yg=="}]}"#)
        }
        let endpoint = try #require(EtcdEndpoint("http://127.0.0.1:\(server.port)"))
        try await EtcdClient([endpoint], EtcdCredentials(), on: .testing).whileOpen { client async throws in
            let failure = await Self.failure(of: client, within: .seconds(5)).0
            #expect(failure == .malformed("the response has an etcd key outside the requested range"))
        }
    }

    @Test func `a change that nobody answered is asked about at another member first`() async throws {
        let silent = try StreamingServer { _, peer in peer.leave() }
        let good = try StreamingServer { _, peer in peer.answer(200, "{\(Self.header)}") }
        let endpoints = [silent, good].compactMap { EtcdEndpoint("http://127.0.0.1:\($0.port)") }
        try await EtcdClient(endpoints, EtcdCredentials(), on: .testing, first: 0).whileOpen {
            client async throws in
            await #expect(throws: EtcdFailure.self) {
                try await client.transact(EtcdTransaction(if: [], then: []))
            }
            _ = try await client.range(EtcdKeyRange(key: [0x61]))
            #expect(silent.requests.count == 1 && good.requests.count == 1)
        }
    }
}
