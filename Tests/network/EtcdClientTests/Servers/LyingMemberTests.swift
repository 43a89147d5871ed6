// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing

@testable import EtcdClient

/// A server at the address of a member that sends invalid responses.
@Suite struct LyingMemberTests {
    private static let header = #""header":{"cluster_id":"1","member_id":"2","revision":"3"}"#

    /// Returns the errors of a read and a transaction at a server that handles each request with `respond`.
    private static func failures(
        within limit: Duration = .seconds(5),
        _ respond: @escaping @Sendable (StreamingServer.Peer) -> Void
    ) async throws -> [EtcdFailure] {
        let server = try StreamingServer { _, peer in respond(peer) }
        let endpoint = try #require(EtcdEndpoint("http://127.0.0.1:\(server.port)"))
        var failures: [EtcdFailure] = []
        try await EtcdClient([endpoint], EtcdCredentials(), on: .testing).whileOpen { client async throws in
            do throws(EtcdFailure) {
                _ = try await client.range(EtcdKeyRange(key: [0x61]), within: limit)
            } catch {
                failures.append(error)
            }
            do throws(EtcdFailure) {
                _ = try await client.transact(EtcdTransaction(if: [], then: []), within: limit)
            } catch {
                failures.append(error)
            }
        }
        return failures
    }

    @Test(arguments: [
        "", "no JSON", "[]", "{}", #"{"header":{"revision":"3"}}"#,
        #"{\#(header),"kvs":{},"succeeded":1}"#, #"{\#(header),\#(header)}"#,
        #"{\#(header),"kvs":[{"key":"!"}],"succeeded":"yes"}"#,
    ])
    func `an answer that is none is not taken for one`(body: String) async throws {
        let failures = try await Self.failures { $0.answer(200, body) }
        #expect(failures.count == 2 && failures.allSatisfy(\.mayHaveActed), "\(failures)")
    }

    @Test func `a redirect leads nowhere`() async throws {
        let other = try StreamingServer { _, peer in peer.answer(200, "{\(Self.header)}") }
        let place = "http://127.0.0.1:\(other.port)/v3/kv/range"
        let failures = try await Self.failures { $0.answer(307, fields: ["Location: \(place)"]) }
        #expect(failures.count == 2 && other.requests.isEmpty)
    }

    @Test func `an answer without end is given up`() async throws {
        let failures = try await Self.failures(within: .seconds(60)) { peer in
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n".utf8)
            peer.send([UInt8](repeating: 0x20, count: 9 << 20))
        }
        #expect(failures == Array(repeating: .malformed("the response is larger than 8 MiB"), count: 2))
    }

    @Test func `an answer that trickles ends at the time limit`() async throws {
        let began = ContinuousClock.now
        let failures = try await Self.failures(within: .milliseconds(300)) { peer in
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{".utf8)
            peer.waitUntilLeft()
        }
        #expect(failures == Array(repeating: .unanswered("timed out waiting for a response"), count: 2))
        #expect(ContinuousClock.now - began < .seconds(60))
    }

    @Test func `a change that was perhaps made is not made at the next member`() async throws {
        let silent = try StreamingServer { _, peer in peer.leave() }
        let good = try StreamingServer { _, peer in peer.answer(200, "{\(Self.header)}") }
        let endpoints = [silent, good].compactMap { EtcdEndpoint("http://127.0.0.1:\($0.port)") }
        try await EtcdClient(endpoints, EtcdCredentials(), on: .testing, first: 0).whileOpen {
            client async throws in
            await #expect(throws: EtcdFailure.self) {
                try await client.transact(EtcdTransaction(if: [], then: []))
            }
            #expect(good.requests.isEmpty)
            // The next request begins at the other member, where a read is retried in any case.
            #expect(try await client.range(EtcdKeyRange(key: [0x61])).header.revision == 3)
        }
        try await EtcdClient(endpoints, EtcdCredentials(), on: .testing, first: 0).whileOpen {
            client async throws in
            #expect(try await client.range(EtcdKeyRange(key: [0x61])).header.cluster == 1)
        }
    }

    @Test func `a port without a gateway leaves the call to the next member`() async throws {
        let other = try StreamingServer { _, peer in
            peer.answer(404, "404 page not found", type: "text/plain")
        }
        let good = try StreamingServer { _, peer in peer.answer(200, #"{\#(Self.header),"succeeded":true}"#) }
        let endpoints = [other, good].compactMap { EtcdEndpoint("http://127.0.0.1:\($0.port)") }
        try await EtcdClient(endpoints, EtcdCredentials(), on: .testing, first: 0).whileOpen {
            client async throws in
            #expect(try await client.transact(EtcdTransaction(if: [], then: [])).content)
        }
        #expect(other.requests.count == 1 && good.requests.count == 1)
    }

    /// Calls `check` with the events of a watch at a server that begins each watch, sends `rest` and then nothing more.
    private static func watched(_ rest: String, _ check: (NewsList) async throws -> Void) async throws {
        let server = try StreamingServer { _, peer in
            peer.beginStream()
            peer.piece(#"{"result":{\#(header),"created":true}}"# + "\n" + rest)
            peer.waitUntilLeft()
        }
        let endpoint = try #require(EtcdEndpoint("http://127.0.0.1:\(server.port)"))
        try await EtcdClient([endpoint], EtcdCredentials(), on: .testing).whileOpen { client async throws in
            let news = NewsList()
            let watch = EtcdWatch(client, EtcdKeyRange(key: [0x61]), silence: .seconds(1))
            let following = Task { await watch.follow(after: nil) { news.add($0) } }
            defer { following.cancel() }
            try await check(news)
        }
    }

    @Test func `a watch that lies is begun anew`() async throws {
        try await Self.watched("nonsense\n") { news async throws in
            #expect(try await Polling.until { news.connections >= 2 && news.troubles >= 2 })
            #expect(news.values.isEmpty)
        }
    }

    @Test func `a member that says nothing for too long is asked anew, without a word`() async throws {
        try await Self.watched("") { news async throws in
            #expect(try await Polling.until { news.resumptions >= 2 })
            #expect(news.connections == 1 && news.failures.isEmpty)
        }
    }

    @Test func `a watch that breaks goes on behind the last change that came whole`() async throws {
        func change(_ value: String, _ revision: Int, _ rest: String = "") -> String {
            let pair = #"{"kv":{"key":"aw==","value":"\#(value)","mod_revision":"\#(revision)"}}"#
            return #"{"result":{"header":{"cluster_id":"1","revision":"90"},"events":[\#(pair)]\#(rest)}}"#
                + "\n"
        }
        let whole = change("YQ==", 10)
        let part = change("Yg==", 11, #","fragment":true"#)
        let server = try StreamingServer { _, peer in
            peer.beginStream()
            peer.piece(#"{"result":{"header":{"cluster_id":"1","revision":"90"},"created":true}}"# + "\n")
            peer.piece(whole + part)
            peer.endStream()
        }
        let endpoint = try #require(EtcdEndpoint("http://127.0.0.1:\(server.port)"))
        try await EtcdClient([endpoint], EtcdCredentials(), on: .testing).whileOpen { client async throws in
            let news = NewsList()
            let watch = EtcdWatch(client, EtcdKeyRange(key: [0x6B]))
            let start = EtcdHeader(cluster: 1, member: 0, revision: 5)
            let following = Task { await watch.follow(after: start) { news.add($0) } }
            defer { following.cancel() }
            #expect(try await Polling.until { server.requests.count >= 2 })
            let starts = server.requests.prefix(2).map {
                $0.json?["create_request"]?.object?["start_revision"]?.string
            }
            #expect(starts == ["6", "11"])
            #expect(news.values.prefix(2) == ["a", "b"])
        }
    }
}
