// SPDX-License-Identifier: MIT

import Text

/// A call of the JSON gateway: a path below the endpoint, and a body (etcd v3.4, `/v3/…`).
///
/// Bytes are encoded in Base64 and 64-bit numbers as strings. Members with their default value are omitted.
struct GatewayRequest: Equatable, Sendable {
    var path: String
    var body: JSONObject
    /// Whether the request is about the member itself, which responds without authentication and without a
    /// leader.
    var isAboutMember = false

    /// Returns a linearizable read of at most `limit` keys.
    static func range(
        _ keys: EtcdKeyRange,
        limit: Int64,
        changedAfter revision: Int64? = nil
    ) -> GatewayRequest {
        var body = members(of: keys)
        body["limit"] = .string(String(limit))
        if let revision { body["min_mod_revision"] = .string(String(revision &+ 1)) }
        return GatewayRequest(path: "/v3/kv/range", body: body)
    }

    static func transact(_ transaction: EtcdTransaction) -> GatewayRequest {
        let body: JSONObject = [
            "compare": .array(transaction.conditions.map { .object(condition($0)) }),
            "success": .array(transaction.changes.map { .object(change($0)) }),
        ]
        return GatewayRequest(path: "/v3/kv/txn", body: body)
    }

    /// Returns a request for a lease of `lifetime`, rounded up to whole seconds.
    static func grantLease(_ lifetime: Duration) -> GatewayRequest {
        let (seconds, rest) = lifetime.components
        return GatewayRequest(
            path: "/v3/lease/grant",
            body: ["TTL": .string(String(max(1, rest > 0 ? seconds + 1 : seconds)))]
        )
    }

    static func authenticate(name: String, password: [UInt8]) -> GatewayRequest {
        let body: JSONObject = [
            "name": .string(name), "password": .string(String(decoding: password, as: UTF8.self)),
        ]
        return GatewayRequest(path: "/v3/auth/authenticate", body: body)
    }

    static let status = GatewayRequest(path: "/v3/maintenance/status", body: [:], isAboutMember: true)

    /// Returns a watch for changes of `keys` from `revision` on.
    ///
    /// Large responses are sent in fragments.
    static func watch(_ keys: EtcdKeyRange, from revision: Int64) -> GatewayRequest {
        var create = members(of: keys)
        create["start_revision"] = .string(String(revision))
        create["fragment"] = true
        create["progress_notify"] = true
        return GatewayRequest(path: "/v3/watch", body: ["create_request": .object(create)])
    }

    private static func members(of keys: EtcdKeyRange) -> JSONObject {
        var members: JSONObject = ["key": .string(Base64.encoded(keys.start))]
        if let end = keys.end { members["range_end"] = .string(Base64.encoded(end)) }
        return members
    }

    private static func condition(_ condition: EtcdTransaction.Condition) -> JSONObject {
        switch condition {
        case .absent(let keys):
            var members = members(of: keys)
            members["target"] = "CREATE"
            members["result"] = "EQUAL"
            members["create_revision"] = "0"
            return members
        case .value(let key, let value):
            return [
                "key": .string(Base64.encoded(key)), "target": "VALUE", "result": "EQUAL",
                "value": .string(Base64.encoded(value)),
            ]
        case .modified(let key, let revision):
            return [
                "key": .string(Base64.encoded(key)), "target": "MOD", "result": "EQUAL",
                "mod_revision": .string(String(revision)),
            ]
        }
    }

    private static func change(_ change: EtcdTransaction.Change) -> JSONObject {
        switch change {
        case .put(let key, let value, let lease):
            var put: JSONObject = [
                "key": .string(Base64.encoded(key)), "value": .string(Base64.encoded(value)),
            ]
            if let lease { put["lease"] = .string(String(lease)) }
            return ["request_put": .object(put)]
        case .delete(let keys):
            return ["request_delete_range": .object(members(of: keys))]
        }
    }
}
