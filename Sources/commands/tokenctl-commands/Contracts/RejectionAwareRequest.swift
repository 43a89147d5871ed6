// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// The ways in which a program shows that its server rejected the last credential.
enum RejectionSign {
    /// The program shows nothing.
    case none
    /// The program repeats the request that the text identifies, within seconds.
    case repetition(of: String)
    /// The program passes on the response of its server, or `nil` with its first request.
    case answer(CurlResponseParser?, to: String, by: HostAndPort?)
}

/// A token request that replaces the token after signs that the previous one was rejected.
struct RejectionAwareRequest {
    /// The time within which a repeated request means a rejection, in seconds.
    ///
    /// A program with an accepted token requests another one only when it expires.
    private static let window: Int64 = 10
    /// The time within which a program may pass on its server's response, in seconds: one hour.
    private static let repetitionWindow: Int64 = 3600

    let tokenRequest: TokenRequest
    let sign: RejectionSign
    let endpoint: AgentEndpoint

    /// Requests the token, and a new one if there are signs that the current one was rejected.
    func token() throws(AgentError) -> AgentToken {
        let token = try endpoint.token(tokenRequest)
        let question: String
        switch sign {
        case .none: return token
        case .repetition(let text), .answer(_, let text, _): question = "\(tokenRequest.session) \(text)"
        }
        guard let memory = RecentRequestCache(of: endpoint) else { return token }
        let times = memory.timesGiven(token, for: question, within: RejectionAwareRequest.window)
        let fresh = try replacement(of: token, for: question, after: times, memory)
        memory.remember(fresh ?? token, for: question, after: fresh == nil ? times : 0)
        return fresh ?? token
    }

    private func replacement(
        of token: AgentToken,
        for question: String,
        after times: Int,
        _ memory: RecentRequestCache
    ) throws(AgentError) -> AgentToken? {
        switch sign {
        case .none: return nil
        case .repetition:
            // A repetition is only a guess. It does not count against the token, which is given again if no
            // refresh is possible.
            guard isRefused(token, question, after: times, memory) else { return nil }
            endpoint.replace(token, tokenRequest)
            let fresh = try endpoint.token(tokenRequest)
            memory.recordObtained(fresh, for: question)
            return fresh
        case .answer(let answer, _, let place):
            // The server may have rejected a request without a token of ours.
            guard let refusal = answer?.refusal,
                memory.wasGiven(token, for: question, within: RejectionAwareRequest.repetitionWindow)
            else { return nil }
            let report = TokenRejectionReport(
                status: refusal.status,
                challenge: refusal.challenge,
                body: [],
                place: place
            )
            guard try report.send(token, to: endpoint, about: tokenRequest) != nil else { return nil }
        }
        return try endpoint.token(tokenRequest)
    }

    /// Returns whether a repeated request probably means a rejection and may cause a refresh now.
    ///
    /// Some programs request a valid token twice, such as kubectl at a cluster that denies anonymous
    /// discovery. From such programs only a third request means a rejection.
    ///
    /// - Parameters:
    ///   - token: The current token.
    ///   - question: The request.
    ///   - times: The number of times in a row that the program received `token` for the request.
    ///   - memory: The cache of recent requests.
    /// - Returns: Whether to refresh the token.
    private func isRefused(
        _ token: AgentToken,
        _ question: String,
        after times: Int,
        _ memory: RecentRequestCache
    ) -> Bool {
        guard times > 0, times > 1 || !memory.isRepeatedAnyway(question, for: token) else { return false }
        return memory.mayRefresh(tokenRequest.session)
            || times > 1 && memory.mayRefresh(tokenRequest.session, repeatedAgain: true)
    }
}

extension AgentEndpoint {
    /// Replaces `token`, which was perhaps rejected, and ignores errors.
    ///
    /// A `[[socket]]` denies refreshes. A report there causes at most one refresh a minute and counts against
    /// no token.
    func replace(_ token: AgentToken, _ tokenRequest: TokenRequest) {
        do throws(AgentError) {
            try refresh(tokenRequest)
        } catch {
            guard error.code == .denied else { return }
            let report = TokenRejectionReport(status: 401, challenge: "", body: [])
            _ = try? report.send(token, to: self, about: tokenRequest)
        }
    }

    /// Refreshes the token that `tokenRequest` describes, even if it is still valid.
    private func refresh(_ tokenRequest: TokenRequest) throws(AgentError) {
        var body = AgentRequestBody<RefreshRequestMembers>()
        body.add(tokenRequest.scopes, tokenRequest.audience)
        let request = AgentRequest(.post, "sessions", tokenRequest.session, "refresh", body: body.finished())
        try send(request, timeout: tokenRequest.responseTimeout)
    }
}
