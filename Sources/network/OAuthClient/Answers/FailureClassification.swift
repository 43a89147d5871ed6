// SPDX-License-Identifier: MIT

import TokenCore

/// A response of the token endpoint without a token, reduced to the facts that decide its meaning.
struct TokenErrorResponse: Equatable, Sendable {
    var status: Int
    var error: ReportedOAuthError?
    /// The reason that the body states in another format than OAuth's.
    var said: String?
    /// Whether the body names an error in another format than OAuth's.
    var namesError = false
    /// Whether the body is a web page, written by a portal or a proxy and not by the token endpoint.
    var isHTML = false
    /// Whether the response requires HTTP Basic credentials (`WWW-Authenticate: Basic`).
    var wantsBasic = false
    /// The delay of `Retry-After`, already clamped.
    var retryAfter: Duration?
    /// Whether the request proved possession of a key (RFC 9449).
    var hadProof = false
    /// Whether the request carried the user's password.
    ///
    /// A rejection without a reason is then blamed on the password.
    var hadPassword = false
    /// Whether the request was a refresh, so that a rejection concerns the login.
    var isRefresh = false
    /// The codes of this server that end the login at a refresh (``ServerDialect/loginOverCodes``).
    var loginOverCodes: [String] = []
}

extension TokenErrorResponse {
    /// Whether a rejection without a reason is blamed on the password.
    ///
    /// The token endpoint itself must have responded.
    fileprivate var blamesPassword: Bool { hadPassword && !isHTML && !wantsBasic }
}

/// Classification of failed token requests by their meaning for the session.
enum FailureClassification {
    /// The minimum delay after a response that a proxy or portal may have written.
    static let proxyPause: Duration = .seconds(60)
    /// The minimum delay after a response that says the endpoint does not exist.
    ///
    /// A server responds in this way for some seconds while it is redeployed.
    static let missingEndpointPause: Duration = .seconds(15)

    /// Classifies a response without a token.
    ///
    /// A single response can end a session only by JSON from the token endpoint itself.
    ///
    /// - Parameters:
    ///   - answer: A response of any status. A 2xx without `error` means that no token could be read from it.
    ///   - server: The host and port, for the message.
    /// - Returns: The failure, in the terms of the session.
    static func classify(_ answer: TokenErrorResponse, from server: String) -> RefreshFailure {
        guard let error = answer.error, let kind = meaning(of: error, in: answer) else {
            return classifyStatus(answer, from: server)
        }
        return RefreshFailure(
            kind: kind,
            code: error.code,
            status: answer.status,
            message: ServerText.cleaned(
                "\(server) returned \(answer.status) \(quoted(error.text, at: answer.status))"
            ),
            retryAfter: answer.retryAfter
        )
    }

    /// The maximum number of characters quoted from a 5xx response: enough to recognize the error.
    static let troubleLimit = 100

    /// Shortens `text` for messages, depending on the status of the response it came with.
    ///
    /// A 5xx response may contain a query, a stack trace or an address inside the server's network. None of
    /// these helps the user.
    static func quoted(_ text: String, at status: Int) -> String {
        ServerText.cleaned(text, limit: (500..<600).contains(status) ? troubleLimit : ServerText.limit)
    }

    /// Returns the meaning of `error`, or `nil` if the status decides regardless of the JSON.
    private static func meaning(of error: ReportedOAuthError, in answer: TokenErrorResponse) -> FailureClass?
    {
        let status = answer.status
        // These codes of RFC 6749 §4.1.2.1 and RFC 8628 §3.5 ask the client to wait, at any status.
        if ["temporarily_unavailable", "slow_down"].contains(error.code) { return .busy }
        if ["server_error", "internal_failure"].contains(error.code) {
            // A server with an internal error does not respond 401: some servers mean the refresh token.
            return status == 401 && answer.isRefresh ? .unexplained : .busy
        }
        // With any other status, the error was not written by the token endpoint itself (RFC 6749 §5.2).
        guard (200..<300).contains(status) || [400, 401, 403].contains(status) else { return nil }
        switch error.code {
        case _
        where answer.isRefresh && answer.loginOverCodes.contains { $0.bytewise == error.code.bytewise }:
            return .grantDead
        case "invalid_grant", "invalid_token":
            // INDIGO IAM sends `invalid_token` with 401 for an invalid refresh token.
            return needsPerson(error) ? .interactionRequired : .grantDead
        case _ where answer.isRefresh && isDeadToken(error.code): return .grantDead
        // Firewalls respond in this way too.
        case "access_denied" where answer.isRefresh && status == 403: return .unexplained
        case "interaction_required", "login_required", "consent_required", "account_selection_required",
            "mfa_required", "access_denied":
            return .interactionRequired
        case "invalid_client": return .clientRejected
        case "unauthorized_client": return .clientUnauthorized
        case "unsupported_grant_type": return .misconfigured
        case "invalid_dpop_proof", "use_dpop_nonce":
            // Without proofs, a retry cannot satisfy a server that requires one.
            return answer.hadProof ? .busy : .misconfigured
        case "invalid_scope", "invalid_target": return .variantRefused
        case "invalid_request": return .unexplained
        // The code is unknown. Repeated often enough, it ends a login, or suspends a session without one.
        default: return .unexplained
        }
    }

    /// Returns whether `code` is a vendor's code for an invalid refresh token, such as GitHub's, Amazon's or
    /// Slack's.
    private static func isDeadToken(_ code: String) -> Bool {
        [
            "bad_refresh_token", "invalid_refresh_token", "refresh_token_expired", "expired_refresh_token",
            "expired_token", "token_expired", "token_revoked",
        ].contains(code)
    }

    /// Returns whether the rejection comes from a policy that only a new login satisfies.
    private static func needsPerson(_ error: ReportedOAuthError) -> Bool {
        let hints = [
            "interaction_required", "login_required", "consent_required", "mfa", "invalid_rapt",
            "basic_action",
            "additional_action", "message_only", "token_expired_policy",
        ]
        return error.detail.map { detail in hints.contains { detail.contains($0) } } ?? false
    }

    private static func classifyStatus(_ answer: TokenErrorResponse, from server: String) -> RefreshFailure {
        let (kind, words, delay) = reading(of: answer)
        let reason = answer.error?.text ?? answer.said
        let said = reason.map { " \(quoted($0, at: answer.status))" } ?? ""
        return RefreshFailure(
            kind: kind,
            code: answer.error?.code,
            status: answer.status,
            message: ServerText.cleaned("\(server) returned \(answer.status)\(said): \(words)"),
            retryAfter: answer.retryAfter,
            minimumDelay: delay
        )
    }

    /// Returns the class, explanation and minimum delay for a status without usable OAuth JSON.
    private static func reading(of answer: TokenErrorResponse) -> (FailureClass, String, Duration?) {
        switch answer.status {
        case 400 where answer.blamesPassword, 401 where answer.blamesPassword,
            403 where answer.blamesPassword:
            (.interactionRequired, "user name or password rejected without a reason", nil)
        case 200..<300 where answer.isRefresh && answer.namesError: (.unexplained, "rejected", nil)
        case 200..<300: (.misbehaved, "not a token response", nil)
        case 300..<400: (.misbehaved, "redirects are not followed", nil)
        case 401 where answer.wantsBasic: (.clientRejected, "client authentication failed", nil)
        case 400, 401:
            answer.isHTML
                ? (.busy, "received HTML instead of JSON (proxy or captive portal?)", proxyPause)
                : (.unexplained, answer.said == nil ? "no reason given" : "rejected", nil)
        case 403:
            (.busy, "rejected\(answer.said == nil ? " without a reason" : "") (by a proxy?)", proxyPause)
        case 404, 405, 410: (.busy, "no token endpoint at this URL", missingEndpointPause)
        case 407, 511: (.busy, "captive portal: log in to the network first", nil)
        case 413, 431: (.misconfigured, "the request is too large for the server", nil)
        case 502, 504, 520..<530: (.ambiguous, "a gateway lost the response", nil)
        case 500..<600: (.busy, "server error", nil)
        default: (.busy, "not available now", nil)
        }
    }
}
