// SPDX-License-Identifier: MIT

import DemoIssuer
import Synchronization
import Text

/// A double of GitHub's API for apps, written from GitHub's documentation.
///
/// GitHub cannot run in these tests. The double checks the app's own tokens: the signature, `iss`, and at
/// most ten minutes from now to `exp`. Its routes are added to a ``DemoIssuer``, which provides TLS, the
/// request log and failures.
package final class GitHubDouble: Sendable {
    private struct State {
        var isSuspended = false
        var lifetime: Int64 = 3_600
        var made = 0
        var living: Set<String> = []
    }

    package static let appID = "12345"
    package static let installation: Int64 = 42
    /// The organization where the app is installed, and its repositories.
    package static let account = "acme"
    package static let repositories = ["web", "api"]
    /// The permissions of the app in the organization.
    package static let permissions = ["contents": "write", "issues": "read"]

    package let key: SigningKey
    private let state = Mutex(State())

    package init() throws {
        key = try .shared()
    }

    /// The routes to add to an issuer.
    package var routes: [Route] {
        [
            Route("GET", "/orgs/\(GitHubDouble.account)/installation") { request in
                self.asApp(request) { .json(["id": .integer(GitHubDouble.installation)]) }
            },
            Route("POST", "/app/installations/\(GitHubDouble.installation)/access_tokens") { request in
                self.asApp(request) { self.makeToken(request.json ?? [:]) }
            },
            Route("GET", "/installation/repositories") { request in
                self.isAlive(request.bearerToken ?? "")
                    ? .json(["repositories": .strings(GitHubDouble.repositories)])
                    : .refusal(401, "Bad credentials")
            },
            Route("DELETE", "/installation/token") { request in self.revoke(request.bearerToken ?? "") },
        ]
    }

    /// The number of tokens issued so far.
    package var made: Int { state.withLock { $0.made } }

    /// Whether the owner of the account has suspended the installation.
    package var isSuspended: Bool {
        get { state.withLock { $0.isSuspended } }
        set { state.withLock { $0.isSuspended = newValue } }
    }

    /// Sets the lifetime of tokens issued from now on.
    package func setLifetime(_ seconds: Int64) {
        state.withLock { $0.lifetime = seconds }
    }

    package func isAlive(_ token: String) -> Bool {
        state.withLock { $0.living.contains(token) }
    }

    private func asApp(_ request: IssuerRequest, _ answer: () -> IssuerResponse) -> IssuerResponse {
        guard request.header("user-agent") != nil else { return .refusal(403, "Request forbidden") }
        guard let token = request.bearerToken, let claims = key.claims(of: token) else {
            return .refusal(401, "A JSON web token could not be decoded")
        }
        let now = WallClock.seconds
        guard claims["iss"]?.string == GitHubDouble.appID else {
            return .refusal(401, "Integration not found")
        }
        guard let issuedAt = claims["iat"]?.integer, issuedAt <= now else {
            return .refusal(401, "'Issued at' claim ('iat') must be in the past")
        }
        guard let end = claims["exp"]?.integer, end > now, end <= now + 600 else {
            return .refusal(401, "'Expiration time' claim ('exp') is too far in the future")
        }
        return isSuspended ? .refusal(403, "This installation has been suspended") : answer()
    }

    private func makeToken(_ wanted: JSONObject) -> IssuerResponse {
        let names = (wanted["repositories"]?.array ?? []).compactMap(\.string)
        guard names.allSatisfy(GitHubDouble.repositories.contains) else {
            let message = "There is at least one repository that does not exist or is not accessible"
            return .refusal(422, message)
        }
        let members = wanted["permissions"]?.object?.members ?? []
        guard members.allSatisfy({ GitHubDouble.permissions[$0.name] != nil }) else {
            return .refusal(422, "The permissions requested are not granted to this installation.")
        }
        return state.withLock { state in
            state.made += 1
            let token = RandomText.token("ghs_\(state.made)")
            state.living.insert(token)
            return .json(
                [
                    "token": .string(token),
                    "expires_at": .string(WallClock.zoned(WallClock.seconds + state.lifetime)),
                    "repository_selection": names.isEmpty ? "all" : "selected",
                ],
                status: 201
            )
        }
    }

    private func revoke(_ token: String) -> IssuerResponse {
        state.withLock { $0.living.remove(token) } == nil
            ? .refusal(401, "Bad credentials") : IssuerResponse(status: 204)
    }
}

extension IssuerResponse {
    /// Returns an error in GitHub's format.
    fileprivate static func refusal(_ status: Int, _ message: String) -> IssuerResponse {
        .json(["message": .string(message), "status": .string("\(status)")], status: status)
    }
}
