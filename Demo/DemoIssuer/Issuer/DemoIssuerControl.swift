// SPDX-License-Identifier: MIT

import Text

/// The functions of `/_control/`, for tests in this process.
extension DemoIssuer {
    /// The behavior of the issuer.
    ///
    /// A change takes effect with the next request.
    package var settings: IssuerSettings {
        get { withState(\.settings) }
        set { withState { $0.settings = newValue } }
    }

    /// The clients, users and signers.
    package var registry: IssuerRegistry {
        get { withState(\.registry) }
        set { withState { $0.registry = newValue } }
    }

    /// Queues `disturbance` for the next `times` requests of `path`.
    package func queue(_ disturbance: Disturbance, for path: String = "/token", times: Int = 1) {
        withState { $0.queue(disturbance, for: path, times: times) }
    }

    /// Answers the next `times` requests of `path` with `reply`, without processing them.
    package func queue(_ reply: IssuerResponse, for path: String = "/token", times: Int = 1) {
        queue(Disturbance(reply: reply), for: path, times: times)
    }

    /// Removes the queued disturbances.
    package func clearQueue() {
        withState { $0.clearQueue() }
    }

    /// Adds a route, which is tried before the issuer's own.
    package func add(_ route: Route) {
        withState { $0.routes.append(route) }
    }

    /// Returns the logged requests, or only those to `path`.
    package func requests(to path: String? = nil) -> [IssuerRequest] {
        withState { $0.requests(to: path) }
    }

    /// Returns the number of token requests with a grant type.
    package func tokenRequests(_ grantType: String) -> Int {
        requests(to: "/token").count { $0.form["grant_type"] == grantType }
    }

    /// Clears the log.
    package func forgetRequests() {
        withState { $0.log = [] }
    }

    /// Ends every grant of `user`, or of all users.
    package func killGrants(of user: String? = nil) {
        withState { $0.grants.kill(user: user) }
    }

    /// Invalidates the access tokens issued so far.
    package func forgetAccessTokens() {
        withState { $0.grants.accessTokens = [:] }
    }

    /// Returns whether a refresh with `token` would succeed now.
    package func isAlive(_ token: String) -> Bool {
        withState { $0.isAlive(token) }
    }

    /// The refresh tokens that would be accepted now.
    package var livingRefreshTokens: [String] {
        withState { state in state.grants.refreshTokens.keys.filter { state.isAlive($0) } }
    }

    /// The number of different proofs of possession that were valid, apart from their nonces.
    package var distinctProofs: Int { withState(\.proofs.seen.count) }

    /// The nonce required in a proof, or `nil` before the first one was issued.
    package var newestDPoPNonce: String? { withState(\.proofs.newestNonce) }

    /// Returns the thumbprint of the key that a token is bound to, or `nil` if the token is not bound.
    package func keyThumbprint(of token: String) -> String? {
        withState { state in
            let access = state.grants.accessTokens[token]?.authorization
            return (access ?? state.grants.refreshTokens[token]?.authorization)?.keyThumbprint
        }
    }

    /// Approves or denies the device login with a user code.
    ///
    /// - Returns: `false` if there is no such login.
    package func decideDevice(userCode: String, user: String = "alice", denied: Bool = false) -> Bool {
        var fields = [("user_code", userCode), ("user", user)]
        if denied { fields.append(("deny", "yes")) }
        let form = FormFields(fields)
        return withState { (try? $0.decideDevice(form))?.status == 200 }
    }

    /// Returns a new refresh token, as from a login with `scope`.
    package func grantRefreshToken(
        client: String,
        user: String,
        scope: [String],
        boundTo key: String? = nil
    ) -> String {
        withState { state in
            let family = state.grants.newFamily()
            let login = GrantLedger.Authorization(client: client, user: user, scope: scope, family: family)
            return state.newRefreshToken(login.bound(to: key))
        }
    }

    /// Signs `claims` with the issuer's key, for tokens that the issuer itself would not issue.
    package func sign(_ claims: JSONObject, header: JSONObject = JSONObject()) throws -> String {
        let key = withState(\.signingKey)
        return try key.sign(claims: claims, header: header)
    }
}
