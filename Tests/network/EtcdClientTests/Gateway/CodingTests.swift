// SPDX-License-Identifier: MIT

import ServerSettings
import Testing
import Text

@testable import EtcdClient

/// The encoding of requests to the gateway, and the decoding of its responses.
@Suite struct CodingTests {
    private static let key = Array("k".utf8)
    private static let value = Array("v".utf8)

    @Test(arguments: [
        (
            GatewayRequest.range(EtcdKeyRange(prefix: Array("a/".utf8)), limit: 2),
            #"{"key":"YS8=","range_end":"YTA=","limit":"2"}"#
        ),
        (.range(EtcdKeyRange(key: Array("a".utf8)), limit: 0), #"{"key":"YQ==","limit":"0"}"#),
        (.grantLease(.milliseconds(2_500)), #"{"TTL":"3"}"#),
        (.grantLease(.zero), #"{"TTL":"1"}"#),
        (.authenticate(name: "n", password: Array("p\"".utf8)), #"{"name":"n","password":"p\""}"#),
        (.status, "{}"),
        (
            .watch(EtcdKeyRange(key: Array("a".utf8)), from: 7),
            #"{"create_request":{"key":"YQ==","start_revision":"7","fragment":true,"progress_notify":true}}"#
        ),
    ])
    func `bytes are Base64 and 64-bit numbers are texts`(request: GatewayRequest, body: String) {
        #expect(JSONValue.object(request.body).text == body)
    }

    @Test func `a transaction compares exactly what it names`() {
        let transaction = EtcdTransaction(
            if: [
                .absent(EtcdKeyRange(prefix: Self.key)), .value(key: Self.key, Self.value),
                .modified(key: Self.key, .max),
            ],
            then: [
                .put(key: Self.key, value: Self.value, lease: 9), .put(key: Self.key, value: []),
                .delete(EtcdKeyRange(key: Self.key)),
            ]
        )
        let body = JSONValue.object(GatewayRequest.transact(transaction).body).text
        #expect(
            body == """
                {"compare":[{"key":"aw==","range_end":"bA==","target":"CREATE","result":"EQUAL",\
                "create_revision":"0"},{"key":"aw==","target":"VALUE","result":"EQUAL","value":"dg=="},\
                {"key":"aw==","target":"MOD","result":"EQUAL","mod_revision":"9223372036854775807"}],\
                "success":[{"request_put":{"key":"aw==","value":"dg==","lease":"9"}},\
                {"request_put":{"key":"aw==","value":""}},{"request_delete_range":{"key":"aw=="}}]}
                """
        )
    }

    @Test(
        arguments: [
            ([0x61], [0x62]), ([0x61, 0xFF], [0x62]), ([0xFF, 0xFF], [0]), ([], [0]),
        ] as [([UInt8], [UInt8])]
    )
    func `a prefix ends before the next one`(prefix: [UInt8], end: [UInt8]) {
        #expect(EtcdKeyRange(prefix: prefix) == EtcdKeyRange(from: prefix, upTo: end))
    }

    @Test func `keys know which are among them`() {
        let prefix = EtcdKeyRange(prefix: [1, 255])
        #expect([[1, 255], [1, 255, 0], [1, 255, 255, 255]].allSatisfy(prefix.contains))
        #expect(![[], [1], [1, 254], [2], [2, 0]].contains(where: prefix.contains))
        #expect(EtcdKeyRange(key: [1]).contains([1]) && !EtcdKeyRange(key: [1]).contains([1, 0]))
        #expect(EtcdKeyRange(prefix: []).contains([]) && EtcdKeyRange(prefix: [255]).contains([255, 255]))
    }

    @Test func `what is left out has its default`() throws {
        let answer = try ParsedGatewayResponse(
            parsing: #"{"header":{"cluster_id":"18446744073709551615"},"kvs":[{"key":"aw=="}]}"#.utf8
        )
        #expect(try answer.header() == EtcdHeader(cluster: .max, member: 0, revision: 0))
        #expect(
            try answer.range(of: EtcdKeyRange(prefix: []))
                == EtcdRangeResult(pairs: [EtcdKeyValue(key: Self.key, value: [])], hasMore: false)
        )
        #expect(try answer.truth("succeeded") == false)
    }

    @Test(arguments: [
        "", "[]", "{", #"{"header":1}"#, #"{"header":{}}"#, #"{"header":{"cluster_id":"x"}}"#,
        #"{"header":{"cluster_id":"18446744073709551616"}}"#, #"{"header":{"cluster_id":-1}}"#,
        #"{"header":{"cluster_id":"1","revision":"9223372036854775808"}}"#,
        #"{"header":{"cluster_id":"1","revision":1.5}}"#,
        #"{"header":{"cluster_id":"1"},"header":{"cluster_id":"2"}}"#,
        #"{"header":{"cluster_id":"1"},"kvs":{}}"#, #"{"header":{"cluster_id":"1"},"kvs":[1]}"#,
        #"{"header":{"cluster_id":"1"},"kvs":[{"key":"a"}]}"#,
        #"{"header":{"cluster_id":"1"},"kvs":[{"key":"aw==","mod_revision":true}]}"#,
        #"{"header":{"cluster_id":"1"},"more":"true"}"#,
    ])
    func `an answer of another shape is none`(text: String) {
        #expect(throws: EtcdFailure.self) {
            let answer = try ParsedGatewayResponse(parsing: text.utf8)
            _ = try answer.header()
            _ = try answer.range(of: EtcdKeyRange(prefix: []))
        }
    }

    @Test(arguments: [#"{"TTL":"0"}"#, #"{"TTL":"-1"}"#, #"{"TTL":"9223372036854775807"}"#, "{}"])
    func `a lease without a sane lifetime is none`(text: String) throws {
        let answer = try ParsedGatewayResponse(parsing: text.utf8)
        #expect(throws: EtcdFailure.self) { try answer.lease() }
    }

    @Test(
        arguments: [
            ("https://etcd1:2379", "https://etcd1:2379"), ("https://etcd1/", "https://etcd1"),
            ("http://127.0.0.1:2379", "http://127.0.0.1:2379"), ("http://[::1]:1", "http://[::1]:1"),
            ("http://etcd1:2379", nil), ("http://localhost:1", nil), ("http://10.0.0.1:1", nil),
            ("http://etcd.localhost:1", nil),
            ("https://etcd1/v3", nil), ("https://a@etcd1", nil), ("etcd1:2379", nil), ("grpcs://etcd1", nil),
            ("https://etcd1?x", nil), ("https://etcd1#x", nil),
        ] as [(String, String?)]
    )
    func `an endpoint is https, or on this very machine`(text: String, origin: String?) {
        #expect(EtcdEndpoint(text)?.origin == origin)
    }
}
