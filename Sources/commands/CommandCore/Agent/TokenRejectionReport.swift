// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// A server's rejection of a token, as reported to the agent.
package struct TokenRejectionReport: Sendable {
    /// The HTTP status, such as 401 or 403.
    package var status: Int
    /// The value of `WWW-Authenticate` (RFC 6750 §3).
    package var challenge: String
    /// The first bytes of the response's body, or empty if unknown.
    package var body: [UInt8]
    /// The server that rejected the token, if known.
    package var place: HostAndPort?

    package init(status: Int, challenge: String, body: [UInt8], place: HostAndPort? = nil) {
        self.status = status
        self.challenge = challenge
        self.body = body
        self.place = place
    }

    /// Reports the rejection of `token` and returns a token to try next.
    ///
    /// - Returns: The new token, or `nil` if another token would not help.
    /// - Throws: ``AgentError`` with the code `loginRequired` if the session has ended or the server
    ///   requires a stronger login.
    package func send(
        _ token: AgentToken,
        to endpoint: AgentEndpoint,
        about tokenRequest: TokenRequest
    ) throws(AgentError) -> AgentToken? {
        let refused = try Secret(Array(token.value.utf8), of: "token")
        let answer = try answer(to: refused, from: endpoint, about: tokenRequest)
        if answer.action == .stepUp { throw .stepUp(answer, of: tokenRequest.session) }
        guard let fresh = answer.accessToken else { return nil }
        var next = token
        next.value = fresh
        next.type = TokenMessage(answer).tokenType ?? token.type
        return next
    }

    /// Reports the rejection of `token` and returns the agent's response.
    ///
    /// A response with the action `retry` includes a token that is one word; all others have none.
    ///
    /// - Throws: ``AgentError`` with the code `loginRequired` if the session has ended.
    package func answer(
        to token: consuming Secret,
        from endpoint: AgentEndpoint,
        about tokenRequest: TokenRequest
    ) throws(AgentError) -> RejectionReportMessage {
        var json = AgentRequestBody<RejectionReportRequestMembers>()
        json.add(\.token, secret: token)
        json.add(\.status, Int64(status))
        json.add(\.challenge, RejectionReportRequestMembers.fitting(challenge))
        json.add(\.body, RejectionReportRequestMembers.readable(body))
        if let place { json.add(\.host, place.text) }
        json.add(tokenRequest.scopes, tokenRequest.audience)
        var request = AgentRequest(.post, "sessions", tokenRequest.session, "report", body: json.finished())
        defer { request.wipeBody() }
        // The response may include a token, so the timeout is that of a token request.
        var answer: RejectionReportMessage = try endpoint.waiting(as: tokenRequest).message(
            request,
            timeout: .seconds(305)
        )
        if answer.action != .retry || answer.accessToken?.utf8.isVisibleWord != true {
            answer.accessToken = nil
        }
        return answer
    }
}
