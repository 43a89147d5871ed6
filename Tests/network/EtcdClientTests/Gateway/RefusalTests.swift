// SPDX-License-Identifier: MIT

import Testing
import Text

@testable import EtcdClient

/// Error responses of the gateway, with the messages of etcd 3.4.
@Suite struct RefusalTests {
    private static func failure(_ status: Int, _ body: String) -> EtcdFailure {
        GatewayError(status: status, body: Array(body.utf8)).failure
    }

    @Test(arguments: [
        (
            403,
            #"{"error":"etcdserver: permission denied","code":7,"message":"etcdserver: permission denied"}"#
        ),
        (403, "Forbidden"),
    ])
    func `what a user may not do is denied`(status: Int, body: String) {
        let failure = Self.failure(status, body)
        guard case .denied = failure else {
            Issue.record("\(failure)")
            return
        }
        #expect(!failure.mayHaveActed)
    }

    @Test(arguments: [
        (401, #"{"message":"etcdserver: invalid auth token","code":16}"#, "password"),
        (
            400,
            #"{"message":"etcdserver: authentication failed, invalid user ID or password","code":3}"#,
            "password"
        ),
        (400, #"{"message":"etcdserver: authentication is not enabled","code":9}"#, "auth enable"),
        (400, #"{"message":"etcdserver: user name is empty","code":3}"#, "fleet.user"),
        (
            400,
            "CommonName of client sending a request against gateway will be ignored and not used as expected\n",
            "without a CommonName"
        ),
    ])
    func `a user who is not let in is told why`(status: Int, body: String, remedy: String) {
        let failure = Self.failure(status, body)
        guard case .unauthenticated = failure else {
            Issue.record("\(failure)")
            return
        }
        #expect(failure.remedy?.text.contains(remedy) == true && failure.isRefusal)
    }

    @Test(arguments: [
        (503, #"{"message":"etcdserver: no leader","code":14}"#, false),
        (429, #"{"message":"etcdserver: too many requests","code":8}"#, false),
        (503, #"{"message":"etcdserver: request timed out","code":14}"#, true),
        (503, #"{"message":"etcdserver: leader changed","code":14}"#, true),
        (500, "", true), (502, "<html>", true),
        (504, #"{"message":"context deadline exceeded","code":4}"#, true),
        (429, #"{"message":"etcdserver: mvcc: database space exceeded","code":8}"#, false),
        (400, #"{"message":"etcdserver: duplicate key given in txn request","code":3}"#, false),
        (404, "404 page not found", false),
    ])
    func `only etcd's own word proves that nothing was done`(status: Int, body: String, mayHaveActed: Bool) {
        #expect(Self.failure(status, body).mayHaveActed == mayHaveActed)
    }

    @Test(arguments: [
        "all SubConns are in TransientFailure, failed to write client preface: tls: bad certificate",
        // As Debian's etcd 3.4.23 says it.
        "connection closed",
        #"write tcp 127.0.0.1:39602-\u003e127.0.0.1:23793: write: broken pipe"#,
    ])
    func `members whose certificate is none for clients are named with the remedy`(words: String) {
        let failure = Self.failure(503, #"{"message":"\#(words)","code":14}"#)
        #expect(failure.remedy?.text.contains("clientAuth") == true)
    }

    @Test func `rights that have changed meanwhile want a new token`() {
        let body = #"{"message":"etcdserver: revision of auth store is old","code":3}"#
        #expect(GatewayError(status: 400, body: Array(body.utf8)).wantsNewToken)
    }

    @Test func `an address without a gateway is named as one`() {
        let failure = Self.failure(404, "Not Found\n")
        #expect(failure.sentence.contains("JSON gateway") && !failure.mayHaveActed)
        #expect(failure.remedy?.text.contains("endpoints to etcd's client port") == true)
    }

    @Test func `words of a server are shown without tricks, and not all of them`() {
        let failure = Self.failure(400, "\u{1B}[2J" + String(repeating: "é", count: 10_000))
        guard case .refused(let text) = failure else {
            Issue.record("\(failure)")
            return
        }
        #expect(text.utf8.count == 300 && text.utf8.allSatisfy { (0x20...0x7E).contains($0) })
    }

    @Test(arguments: [
        (#"{"result":{"canceled":true,"compact_revision":"12"}}"#, EtcdFailure.compacted(12)),
        (
            #"{"result":{"canceled":true,"cancel_reason":"rpc error: permission denied"}}"#,
            .denied("rpc error: permission denied")
        ),
        (
            #"{"result":{"canceled":true,"cancel_reason":"etcdserver: no leader"}}"#,
            .unreachable("etcdserver: no leader")
        ),
        (
            #"{"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader"}}"#,
            .unreachable("etcdserver: no leader")
        ),
    ])
    func `a watch that is ended says why`(line: String, failure: EtcdFailure) throws {
        #expect(try WatchLine(parsing: Array(line.utf8)) == .ended(failure))
    }

    @Test func `a line of a watch is a beginning, changes, or how far things are`() throws {
        let header = #""header":{"cluster_id":"1","revision":"5"}"#
        let place = EtcdHeader(cluster: 1, member: 0, revision: 5)
        func line(_ rest: String) throws -> WatchLine {
            try WatchLine(parsing: Array(#"{"result":{\#(header)\#(rest)}}"#.utf8))
        }
        #expect(try line(#","created":true"#) == .created(place))
        #expect(try line("") == .changes(place, [], isWhole: true))
        let pair = EtcdKeyValue(key: [0x6B], value: [0x76])
        let gone = EtcdKeyValue(key: [0x6B], value: [])
        #expect(
            try line(
                #","events":[{"kv":{"key":"aw==","value":"dg=="}},{"type":"DELETE","kv":{"key":"aw=="}}]"#
            ) == .changes(place, [EtcdChange(pair), EtcdChange(gone, isDeletion: true)], isWhole: true)
        )
        let part = #","fragment":true,"events":[{"kv":{"key":"aw==","value":"dg=="}}]"#
        #expect(try line(part) == .changes(place, [EtcdChange(pair)], isWhole: false))
        #expect(throws: EtcdFailure.self) { try line(#","events":[{"type":"PUT"}]"#) }
    }

    @Test func `a line without end is given up`() throws {
        var cutter = LineCutter()
        cutter.append([UInt8](repeating: 0x61, count: GatewayTransport.longest + 1))
        #expect(throws: EtcdFailure.malformed("a line of the watch is longer than 8 MiB")) {
            try cutter.nextOfWatch()
        }
    }
}
