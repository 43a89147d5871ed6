// SPDX-License-Identifier: MIT

import EtcdClient
import SealedStore
import ServerSettings
import TestSupport
import Testing
import TokenCore

@testable import FleetStore

/// Messages about an etcd that fails requests.
@Suite struct TroubleTests {
    private static let header = #""header":{"cluster_id":"1","member_id":"2","revision":"3"}"#

    /// Returns a host whose only member responds to every request in the same way.
    private static func host(
        _ keys: FleetKeys,
        whileRunning server: StreamingServer,
        _ body: (StoreHost) async throws -> Void
    ) async throws {
        let endpoint = try #require(EtcdEndpoint("http://127.0.0.1:\(server.port)"))
        let host = try StoreHost(keys, [endpoint], "client")
        try await body(host)
        await host.store.close()
    }

    @Test func `rights that are missing are named with the fleet's own place`() async throws {
        let server = try StreamingServer { _, peer in
            peer.answer(403, #"{"message":"etcdserver: permission denied","code":7}"#)
        }
        let keys = try FleetKeys.random(label: "team")
        try await Self.host(keys, whileRunning: server) { host in
            let storeError = await #expect(throws: FleetStoreError.self) { _ = try await host.look() }
            let prefix = String(decoding: FleetNames(keys).prefix, as: UTF8.self)
            #expect(storeError?.kind == .denied)
            #expect(storeError?.remedy?.text.contains("readwrite --prefix=true \(prefix)") == true)
        }
    }

    @Test(
        arguments: [
            ("memberID:7 alarm:NOSPACE ", "out of space", true),
            ("memberID:7 alarm:CORRUPT ", "CORRUPT", false),
        ]
    )
    func `an alarm of etcd is the trouble of its member`(
        alarm: String,
        words: String,
        hasRemedy: Bool
    )
        async throws
    {
        let server = try StreamingServer { _, peer in
            peer.answer(
                200,
                #"{\#(Self.header),"version":"3.4.23","leader":"2","dbSize":"9","errors":["\#(alarm)"]}"#,
                fields: ["Date: Thu, 01 Jan 2026 00:00:00 GMT"]
            )
        }
        try await Self.host(FleetKeys.random(label: "team"), whileRunning: server) { host in
            let member = try #require(await host.store.survey([]).members.first)
            #expect(member.hasLeader && member.version == "3.4.23")
            #expect(member.storeError?.sentence.contains(words) == true)
            #expect((member.storeError?.remedy?.text.contains("alarm disarm") == true) == hasRemedy)
        }
    }

    @Test func `a member that tells how it is and lets nobody read refuses`() async throws {
        let server = try StreamingServer { request, peer in
            guard request.target == "/v3/kv/range" else {
                return peer.answer(200, #"{\#(Self.header),"version":"3.4.23","leader":"2","dbSize":"9"}"#)
            }
            peer.answer(400, #"{"message":"etcdserver: user name is empty","code":3}"#)
        }
        try await Self.host(FleetKeys.random(label: "team"), whileRunning: server) { host in
            let member = try #require(await host.store.survey([]).members.first)
            #expect(member.version == "3.4.23" && member.isRefusing)
            #expect(member.storeError?.sentence.contains("user name is empty") == true)
        }
    }

    @Test func `a member of another cluster is named`() async throws {
        let servers = try ["1", "4"].map { cluster in
            try StreamingServer { _, peer in
                let header = Self.header.replacing("\"1\"", with: "\"\(cluster)\"")
                peer.answer(200, "{\(header),\"version\":\"3.4.23\",\"leader\":\"2\",\"dbSize\":\"9\"}")
            }
        }
        let endpoints = try servers.map { try #require(EtcdEndpoint("http://127.0.0.1:\($0.port)")) }
        let host = try StoreHost(FleetKeys.random(label: "team"), endpoints, "client")
        let members = await host.store.survey([]).members
        await host.store.close()
        let strangers = members.filter { $0.storeError != nil }
        #expect(members.count == 2 && strangers.map(\.endpoint) == [endpoints[1].origin])
        #expect(strangers.first?.storeError?.sentence.contains(endpoints[0].origin) == true)
    }
}
