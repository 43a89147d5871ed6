// SPDX-License-Identifier: MIT

import DemoIssuer
import Glibc
import TestSupport
import Testing
import Text

/// A client with a key that talks to the issuer through `curl`.
struct ProvingClient {
    struct Answer {
        var status = 0
        var headers: [(name: String, value: String)] = []
        var body = JSONObject()

        func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name }?.value
        }

        /// The error code, or `nil` if the request succeeded.
        var error: String? { body["error"]?.string }
        var explanation: String { body["error_description"]?.string ?? "" }
        var nonce: String? { header("dpop-nonce") }
        var tokenType: String? { body["token_type"]?.string }
        var accessToken: String { body["access_token"]?.string ?? "" }
        var refreshToken: String { body["refresh_token"]?.string ?? "" }
    }

    let issuer: DemoIssuer
    var key = ProvingKey()

    /// Starts an issuer with changed settings and returns a client of it.
    static func start(_ change: (inout IssuerSettings) -> Void = { _ in }) async throws -> ProvingClient {
        var options = DemoIssuer.Options()
        options.settings.dpop = .allowed
        options.settings.rotation = .strict
        options.settings.accessLifetime = .seconds(600)
        change(&options.settings)
        return ProvingClient(issuer: try await DemoIssuer.start(options))
    }

    // MARK: Proofs

    /// Returns the claims of a valid proof for the request, changed by `changes`.
    ///
    /// `null` removes a member.
    func claims(
        _ method: String = "POST",
        _ path: String = "/token",
        changes: JSONObject = JSONObject()
    ) -> JSONObject {
        let claims: JSONObject = [
            "jti": .string("proof-\(UInt64.random(in: .min ... .max))"), "htm": .string(method),
            "htu": .string(issuer.issuer + path), "iat": .integer(ProvingClient.now),
        ]
        return claims.changed(by: changes)
    }

    func proof(_ changes: JSONObject = JSONObject()) throws -> String {
        try key.proof(header: key.header, claims: claims(changes: changes))
    }

    /// Returns a proof for a request with `token`.
    func proof(
        with token: String,
        _ method: String = "GET",
        _ path: String = "/resource",
        changes: JSONObject = JSONObject()
    ) throws -> String {
        var claims = claims(method, path)
        claims["ath"] = .string(ProvingKey.hash(of: token))
        return try key.proof(header: key.header, claims: claims.changed(by: changes))
    }

    static var now: Int64 { Int64(time(nil)) }

    // MARK: Requests

    func logIn(_ proofs: String...) async throws -> Answer {
        let form = "grant_type=password&username=alice&password=alice-password&scope=openid+api"
        return try await post("\(form)&client_id=demo-public", proofs)
    }

    /// Logs in with a valid proof, with a nonce if the issuer requires one.
    func provenLogin() async throws -> Answer {
        let nonce = issuer.newestDPoPNonce.map(JSONValue.string) ?? .null
        let answer = try await logIn(proof(["nonce": nonce]))
        try #require(answer.status == 200, "\(answer.body)")
        return answer
    }

    func refresh(_ token: String, _ proofs: String...) async throws -> Answer {
        try await post("grant_type=refresh_token&client_id=demo-public&refresh_token=\(token)", proofs)
    }

    func post(_ form: String, _ proofs: [String] = [], to path: String = "/token") async throws -> Answer {
        try await curl(["-d", form] + headers(proofs), path)
    }

    /// Asks for the resource as `Authorization: SCHEME token`.
    func use(
        _ token: String,
        as scheme: String = "DPoP",
        at path: String = "/resource",
        _ proofs: String...
    ) async throws -> Answer {
        try await curl(["-H", "Authorization: \(scheme) \(token)"] + headers(proofs), path)
    }

    private func headers(_ proofs: [String]) -> [String] {
        proofs.flatMap { ["-H", "DPoP: \($0)"] }
    }

    func curl(_ arguments: [String], _ path: String) async throws -> Answer {
        let result = try await Program.run(
            ["curl", "-s", "-i", "--max-time", "20"] + arguments + [issuer.issuer + path],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"]
        )
        let lines = result.standardOutput.split(separator: "\r\n", omittingEmptySubsequences: false)
        let head = lines.prefix { !$0.isEmpty }
        var answer = Answer()
        answer.status = Int(try #require(head.first).split(separator: " ")[1]) ?? 0
        answer.headers = head.dropFirst().map { line in
            let halves = line.split(separator: ":", maxSplits: 1).map(String.init)
            return (halves[0], String(halves[1].drop { $0 == " " }))
        }
        let body = lines.dropFirst(head.count + 1).joined(separator: "\r\n")
        answer.body = (try? JSONValue(parsing: body.utf8))?.object ?? JSONObject()
        return answer
    }
}

extension JSONObject {
    /// Returns the object with the members of `changes`.
    ///
    /// `null` removes a member.
    func changed(by changes: JSONObject) -> JSONObject {
        var result = self
        for member in changes.members { result[member.name] = member.value == .null ? nil : member.value }
        return result
    }
}
