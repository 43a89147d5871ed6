// SPDX-License-Identifier: MIT

import Text

/// The same control a script has under `/_control/`, for tests in this process.
extension DemoIssuer {
    /// How the issuer behaves; a change counts from the next request on.
    package var settings: IssuerSettings {
        get { withState(\.settings) }
        set { withState { $0.settings = newValue } }
    }

    /// Who may ask for tokens.
    package var registry: IssuerRegistry {
        get { withState(\.registry) }
        set { withState { $0.registry = newValue } }
    }

    /// Lets `disturbance` happen to the next `times` requests of `path`.
    package func queue(_ disturbance: Disturbance, for path: String = "/token", times: Int = 1) {
        withState { $0.queue(disturbance, for: path, times: times) }
    }

    /// Answers the next `times` requests of `path` with `reply`; the issuer does nothing else about them.
    package func queue(_ reply: IssuerResponse, for path: String = "/token", times: Int = 1) {
        queue(Disturbance(reply: reply), for: path, times: times)
    }

    /// Forgets what is still queued.
    package func clearQueue() {
        withState { $0.clearQueue() }
    }

    /// Adds a route, which is tried before the issuer's own.
    package func add(_ route: Route) {
        withState { $0.routes.append(route) }
    }

    /// The log, or the part of it that went to `path`.
    package func requests(to path: String? = nil) -> [IssuerRequest] {
        withState { $0.requests(to: path) }
    }

    /// How many token requests had this grant type.
    package func tokenRequests(_ grantType: String) -> Int {
        requests(to: "/token").count { $0.form["grant_type"] == grantType }
    }

    /// Empties the log.
    package func forgetRequests() {
        withState { $0.log = [] }
    }

    /// Ends every grant of `user`, or of everybody.
    package func killGrants(of user: String? = nil) {
        withState { $0.grants.kill(user: user) }
    }

    /// Access tokens issued so far are unknown from now on.
    package func forgetAccessTokens() {
        withState { $0.grants.accessTokens = [:] }
    }

    /// Whether a refresh with `token` would succeed now.
    package func isAlive(_ token: String) -> Bool {
        withState { $0.isAlive(token) }
    }

    /// Refresh tokens that would be accepted now.
    package var livingRefreshTokens: [String] {
        withState { state in state.grants.refreshTokens.keys.filter { state.isAlive($0) } }
    }

    /// How many different proofs of possession were good, apart from their nonces.
    package var distinctProofs: Int { withState(\.proofs.seen.count) }

    /// The nonce a proof has to hold now; `nil` before the first was handed out.
    package var newestDPoPNonce: String? { withState(\.proofs.newestNonce) }

    /// The thumbprint of the key an access or refresh token is bound to; `nil`: it is for any bearer.
    package func keyThumbprint(of token: String) -> String? {
        withState { state in
            let access = state.grants.accessTokens[token]?.authorization
            return (access ?? state.grants.refreshTokens[token]?.authorization)?.keyThumbprint
        }
    }

    /// Approves or refuses the device login with this user code; `false` if there is none.
    package func decideDevice(userCode: String, user: String = "alice", denied: Bool = false) -> Bool {
        var fields = [("user_code", userCode), ("user", user)]
        if denied { fields.append(("deny", "yes")) }
        let form = FormFields(fields)
        return withState { (try? $0.decideDevice(form))?.status == 200 }
    }

    /// A fresh refresh token, as a login with `scope` would have bought it.
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

    /// Signs `claims` with the issuer's key, for tokens the issuer itself would not write.
    package func sign(_ claims: JSONObject, header: JSONObject = JSONObject()) throws -> String {
        let key = withState(\.signingKey)
        return try key.sign(claims: claims, header: header)
    }
}
