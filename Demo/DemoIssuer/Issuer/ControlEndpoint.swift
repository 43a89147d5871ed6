// SPDX-License-Identifier: MIT

import Text

/// The control interface for scripts, under `/_control/`.
///
/// Its requests are neither logged nor disturbed.
///
/// | Request | Effect |
/// |---|---|
/// | `GET requests?path=…` | returns the request log |
/// | `DELETE requests` | clears the request log |
/// | `GET counts` | counts requests by path, and token requests by grant type |
/// | `POST queue` | queues a disturbance for the next `times` requests of `path` |
/// | `DELETE queue` | removes the queued disturbances |
/// | `POST settings` | changes the given settings |
/// | `POST kill` | ends the grants of `user`, or all |
/// | `POST forget_access` | invalidates the access tokens issued so far |
/// | `GET alive?token=…` | tells whether a refresh token would be accepted |
/// | `POST approve` | approves `user_code`, or all pending codes, or denies them with `deny` |
/// | `POST release` | sends the responses that a disturbance holds back |
extension IssuerState {
    static let controlPrefix = "/_control/"

    mutating func control(_ request: IssuerRequest) -> IssuerResponse {
        let object = request.json ?? JSONObject()
        switch (request.method, request.path.dropFirst(IssuerState.controlPrefix.count)) {
        case ("GET", "requests"): return .json(.array(requests(to: request.query["path"]).map(\.record)))
        case ("DELETE", "requests"): log = []
        case ("GET", "counts"): return .json(counts)
        case ("POST", "queue"): return queue(object)
        case ("DELETE", "queue"): clearQueue()
        case ("POST", "settings"):
            if let unknown = settings.apply(object) { return .failure("bad_setting", description: unknown) }
        case ("POST", "kill"): grants.kill(user: object["user"]?.string)
        case ("POST", "forget_access"): grants.accessTokens = [:]
        case ("GET", "alive"): return .json(["alive": .bool(isAlive(request.query["token"] ?? ""))])
        case ("POST", "approve"): return .json(["approved": .integer(approve(object))])
        case ("POST", "release"): break
        default: return .notFound
        }
        return .json(["ok": true])
    }

    func requests(to path: String?) -> [IssuerRequest] {
        log.filter { path == nil || $0.path == path }
    }

    func isAlive(_ token: String) -> Bool {
        grants.isAlive(token, rotation: settings.rotation, now: now)
    }

    private var counts: JSONValue {
        var byPath: [String: Int] = [:]
        var byGrantType: [String: Int] = [:]
        for request in log {
            byPath[request.path, default: 0] += 1
            guard request.path == "/token" else { continue }
            byGrantType[request.form["grant_type"] ?? "", default: 0] += 1
        }
        return ["paths": JSONValue(counts: byPath), "grant_types": JSONValue(counts: byGrantType)]
    }

    private mutating func queue(_ object: JSONObject) -> IssuerResponse {
        guard let path = object["path"]?.string, let disturbance = Disturbance(object) else {
            return .failure("bad_disturbance")
        }
        queue(disturbance, for: path, times: Int(object["times"]?.integer ?? 1))
        return .json(["ok": true])
    }

    /// Approves or denies the device logins that match `object`, and returns their number.
    private mutating func approve(_ object: JSONObject) -> Int {
        let user = object["user"]?.string ?? registry.users.first?.name ?? "nobody"
        let codes = grants.devices.filter { _, grant in
            grant.decision == .pending && (object["user_code"]?.string ?? grant.userCode) == grant.userCode
        }
        for code in codes.keys {
            grants.devices[code]?.decision = object["deny"]?.bool == true ? .denied : .approved(user: user)
        }
        return codes.count
    }
}

extension JSONValue {
    fileprivate init(counts: [String: Int]) {
        var object = JSONObject()
        for name in counts.keys.sorted() { object[name] = .integer(counts[name] ?? 0) }
        self = .object(object)
    }
}
