// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// A response of a back end of kind `json` without tokens.
struct JSONErrorResponse: Equatable, Sendable {
    /// All error codes in the response; the code of the most specific JSON member is the first.
    let codes: [String]
    /// Whether the response requires a new login, regardless of its code.
    let requiresReauth: Bool
    let description: String?

    /// Reads the error in `object`, with `paths` as the paths of its parts.
    init(_ object: JSONObject, at paths: JSONResponsePaths) {
        codes = paths.codes(in: object).map { ServerText.cleaned($0, limit: 100) }
        requiresReauth = paths.demandLogin(in: object)
        description =
            paths.errors(in: object).lazy
            .compactMap { ($0["message"] ?? $0["error_description"] ?? $0["detail"])?.string }.first
            ?? ReportedOAuthError.words(in: object)
    }

    /// Returns the code and the server's message as one text, such as "token_revoked: Signed out elsewhere".
    ///
    /// A part that the server did not send is omitted.
    func text(_ code: String?) -> String {
        [code, description].compactMap(\.self).filter { !$0.isEmpty }.joined(separator: ": ")
    }
}

extension JSONBackEndDialect {
    /// Returns whether `object` is an error response, regardless of its HTTP status.
    func isRefusal(_ object: JSONObject, _ purpose: JSONPurpose) -> Bool {
        let paths = responses(to: purpose).paths
        let refusal = JSONErrorResponse(object, at: paths)
        let hasToken = paths.content(of: object)?[responses.names.accessToken] != nil
        return refusal.requiresReauth || responses.isUnsuccessful(object)
            || !hasToken && !refusal.codes.isEmpty
    }

    /// Returns whether `reply` contains a code about the access token or the session, or requires a new
    /// login.
    func isAboutSession(_ reply: ServerResponse) -> Bool {
        guard
            let refusal = reply.jsonObject.map({ JSONErrorResponse($0, at: responses.paths) })
        else { return false }
        return refusal.requiresReauth
            || refusal.codes.contains {
                logoutCodes.contains($0) || refreshCodes.contains($0)
                    || refreshLogoutCodes?.contains($0) == true
            }
    }

    /// Classifies a response without tokens.
    ///
    /// A single response ends the session only with a listed code, `requiresReauth` or OAuth's
    /// `invalid_grant`. All else that a proxy, a portal or an overloaded server may send is temporary.
    func classify(
        _ reply: ServerResponse,
        _ purpose: JSONPurpose,
        from server: String,
        at now: WallTime
    ) -> RefreshFailure {
        var answer = reply.refused(object: nil, at: now)
        answer.isRefresh = purpose == .refresh
        guard let object = reply.jsonObject else {
            return FailureClassification.classify(answer, from: server)
        }
        let refusal = JSONErrorResponse(object, at: responses(to: purpose).paths)
        if let over = sessionOver(refusal, purpose, status: reply.status, from: server) { return over }
        let code = refusal.codes.first
        if let code, JSONBackEndDialect.sharedCodes.contains(code) {
            answer.error = ReportedOAuthError(code: code, description: refusal.description)
            return FailureClassification.classify(answer, from: server)
        }
        var failure = FailureClassification.classify(answer, from: server)
        failure.code = code
        // The code is not listed. Repeated often enough, it ends a login.
        if purpose == .refresh, code != nil, (200..<300).contains(reply.status) || reply.status == 403 {
            failure.kind = .unexplained
            failure.minimumDelay = nil
        }
        let said = FailureClassification.quoted(refusal.text(code), at: reply.status)
        if !said.isEmpty { failure.message = ServerText.cleaned("\(failure.message) (\(said))") }
        return failure
    }

    /// The error codes of OAuth that have the same meaning in a JSON back end.
    private static let sharedCodes: Set<String> = [
        "invalid_grant", "temporarily_unavailable", "server_error", "slow_down",
    ]

    private func sessionOver(
        _ refusal: JSONErrorResponse,
        _ purpose: JSONPurpose,
        status: Int,
        from server: String
    ) -> RefreshFailure? {
        let ownList = purpose == .refresh ? refreshLogoutCodes : nil
        let over = ownList ?? logoutCodes
        let known = refusal.codes.first { over.contains($0) || ownList == nil && refreshCodes.contains($0) }
        let isListed = known.map(over.contains) ?? false
        guard refusal.requiresReauth || isListed && JSONBackEndDialect.isFinal(status) else { return nil }
        let code = known ?? refusal.codes.first ?? responses.loginDemand
        return RefreshFailure(
            kind: .sessionOver,
            code: code,
            message: ServerText.cleaned("\(server) returned \(status) \(refusal.text(code))")
        )
    }

    /// Returns whether an error code may be believed in a response with this HTTP status.
    ///
    /// No code counts if the server asks the client to wait or a gateway responds.
    private static func isFinal(_ status: Int) -> Bool {
        (200..<300).contains(status)
            || (400..<500).contains(status) && ![407, 408, 425, 429].contains(status)
    }
}
