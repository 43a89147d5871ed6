// SPDX-License-Identifier: MIT

import TokenCore

/// An answer of the token endpoint that brought no token, reduced to what decides its meaning.
struct TokenErrorResponse: Equatable, Sendable {
    var status: Int
    var error: OAuthError?
    /// What the body says of its reason in another form than OAuth's.
    var said: String?
    /// The body names an error in another form than OAuth's.
    var namesError = false
    /// The body is a web page: a portal or a proxy speaks, not the token endpoint.
    var isHTML = false
    /// The answer demands HTTP Basic credentials (`WWW-Authenticate: Basic`).
    var wantsBasic = false
    /// Already clamped.
    var retryAfter: Duration?
    /// The request proved possession of a key (RFC 9449).
    var hadProof = false
    /// The request showed a person's password; a refusal without a reason then blames that.
    var hadPassword = false
    /// The request was to refresh tokens, so that a refusal says something of the login.
    var isRefresh = false
}

extension TokenErrorResponse {
    /// Whether a refusal without a reason blames the password: the token endpoint itself has answered.
    fileprivate var blamesPassword: Bool { hadPassword && !isHTML && !wantsBasic }
}

/// Decides what a failed token request means for the session.
enum FailureClassification {
    /// Least wait after an answer that a proxy or portal may have written.
    static let proxyPause: Duration = .seconds(60)
    /// Least wait after an answer that says the endpoint is not there.
    ///
    /// A server that is redeployed answers so for seconds.
    static let missingEndpointPause: Duration = .seconds(15)

    /// Sorts an answer; a single one can end a session only by what the token endpoint itself says in JSON.
    ///
    /// - Parameters:
    ///   - answer: of any status; a 2xx without `error` means that no token could be read from it.
    ///   - server: host and port, for the message.
    /// - Returns: the failure as the session sees it.
    static func classify(_ answer: TokenErrorResponse, from server: String) -> RefreshFailure {
        guard let error = answer.error, let kind = meaning(of: error, in: answer) else {
            return classifyStatus(answer, from: server)
        }
        return RefreshFailure(
            kind: kind,
            code: error.code,
            status: answer.status,
            message: ServerText.cleaned(
                "\(server) answered \(answer.status) \(quoted(error.text, at: answer.status))"
            ),
            retryAfter: answer.retryAfter
        )
    }

    /// Characters shown of what a server in trouble says: enough to recognise the trouble.
    static let troubleLimit = 100

    /// What is shown of `text`, which came with `status`.
    ///
    /// With 5xx a server says what it has at hand: a query, a stack trace, an address inside its network. None of it
    /// helps the person here.
    static func quoted(_ text: String, at status: Int) -> String {
        ServerText.cleaned(text, limit: (500..<600).contains(status) ? troubleLimit : ServerText.limit)
    }

    /// What `error` means; `nil`: the status decides, whatever the JSON says.
    private static func meaning(of error: OAuthError, in answer: TokenErrorResponse) -> FailureClass? {
        let status = answer.status
        // RFC 6749 §4.1.2.1 and RFC 8628 §3.5 codes that ask for patience hold at any status.
        if ["temporarily_unavailable", "slow_down"].contains(error.code) { return .busy }
        if ["server_error", "internal_failure"].contains(error.code) {
            // A server in trouble does not answer 401: some mean the refresh token.
            return status == 401 && answer.isRefresh ? .unexplained : .busy
        }
        // With any other status the error is not the token endpoint's own (RFC 6749 §5.2).
        guard (200..<300).contains(status) || [400, 401, 403].contains(status) else { return nil }
        switch error.code {
        case "invalid_grant", "invalid_token":
            // `invalid_token` with 401 is INDIGO IAM's word for a dead refresh token.
            return needsPerson(error) ? .interactionRequired : .grantDead
        case _ where answer.isRefresh && isDeadToken(error.code): return .grantDead
        // So answer firewalls, too.
        case "access_denied" where answer.isRefresh && status == 403: return .unexplained
        case "interaction_required", "login_required", "consent_required", "account_selection_required",
            "mfa_required", "access_denied":
            return .interactionRequired
        case "invalid_client": return .clientRejected
        case "unauthorized_client": return .clientUnauthorized
        case "unsupported_grant_type": return .misconfigured
        case "invalid_dpop_proof", "use_dpop_nonce":
            // Without proofs, another try does not satisfy a server that demands one.
            return answer.hadProof ? .busy : .misconfigured
        case "invalid_scope", "invalid_target": return .variantRefused
        case "invalid_request": return .unexplained
        // A refusal in words that nobody knows: said again and again, it ends a login.
        default: return answer.isRefresh ? .unexplained : .busy
        }
    }

    /// Vendors' words for a refresh token that is dead: GitHub's, Amazon's, Slack's and those alike.
    private static func isDeadToken(_ code: String) -> Bool {
        [
            "bad_refresh_token", "invalid_refresh_token", "refresh_token_expired", "expired_refresh_token",
            "expired_token", "token_expired", "token_revoked",
        ].contains(code)
    }

    /// Whether the refusal comes from a policy that only a new login satisfies.
    private static func needsPerson(_ error: OAuthError) -> Bool {
        let hints = [
            "interaction_required", "login_required", "consent_required", "mfa", "invalid_rapt",
            "basic_action",
            "additional_action", "message_only", "token_expired_policy",
        ]
        return error.detail.map { detail in hints.contains { detail.contains($0) } } ?? false
    }

    private static func classifyStatus(_ answer: TokenErrorResponse, from server: String) -> RefreshFailure {
        let (kind, words, pause) = reading(of: answer)
        let reason = answer.error?.text ?? answer.said
        let said = reason.map { " \(quoted($0, at: answer.status))" } ?? ""
        return RefreshFailure(
            kind: kind,
            code: answer.error?.code,
            status: answer.status,
            message: ServerText.cleaned("\(server) answered \(answer.status)\(said): \(words)"),
            retryAfter: answer.retryAfter,
            leastPause: pause
        )
    }

    /// Class, explanation, and the least pause for a status without usable OAuth JSON.
    private static func reading(of answer: TokenErrorResponse) -> (FailureClass, String, Duration?) {
        switch answer.status {
        case 400 where answer.blamesPassword, 401 where answer.blamesPassword,
            403 where answer.blamesPassword:
            (.interactionRequired, "user name or password refused, no reason given", nil)
        case 200..<300 where answer.isRefresh && answer.namesError: (.unexplained, "refused", nil)
        case 200..<300: (.misbehaved, "not a token answer", nil)
        case 300..<400: (.misbehaved, "redirects are not followed", nil)
        case 401 where answer.wantsBasic: (.clientRejected, "it wants other client credentials", nil)
        case 400, 401:
            answer.isHTML
                ? (.busy, "a web page, perhaps a proxy's", proxyPause)
                : (.unexplained, answer.said == nil ? "no reason given" : "refused", nil)
        case 403:
            (.busy, "refused\(answer.said == nil ? " without reason" : ""), perhaps by a proxy", proxyPause)
        case 404, 405, 410: (.busy, "no token endpoint there", missingEndpointPause)
        case 407, 511: (.busy, "the network wants a login of its own", nil)
        case 413, 431: (.misconfigured, "the request is too large for the server", nil)
        case 502, 504, 520..<530: (.ambiguous, "a gateway lost the answer", nil)
        case 500..<600: (.busy, "the server has trouble", nil)
        default: (.busy, "not served now", nil)
        }
    }
}
