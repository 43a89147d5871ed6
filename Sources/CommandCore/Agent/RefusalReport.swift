// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// What a server answered to a token, for the agent to judge.
package struct RefusalReport: Sendable {
    /// Such as 401 or 403.
    package var status: Int
    /// `WWW-Authenticate` (RFC 6750 §3).
    package var challenge: String
    package var body: [UInt8]
    /// The server that was asked, where that is known.
    package var place: HostName?

    package init(status: Int, challenge: String, body: [UInt8], place: HostName? = nil) {
        self.status = status
        self.challenge = challenge
        self.body = body
        self.place = place
    }

    /// The token to try instead of `token`, or nil if another one would not help.
    ///
    /// - Throws: ``AgentError`` with the code `loginRequired` if the session is over, or if the server wants more of
    ///   the login.
    package func send(
        _ token: AgentToken,
        to endpoint: AgentEndpoint,
        about demand: TokenRequest
    ) throws(AgentError) -> AgentToken? {
        let refused = try Secret(Array(token.value.utf8), of: "token")
        let answer = try answer(to: refused, from: endpoint, about: demand)
        if answer.action == .stepUp { throw .stepUp(answer, of: demand.session) }
        guard let fresh = answer.accessToken else { return nil }
        var next = token
        next.value = fresh
        next.type = TokenMessage(answer).tokenType ?? token.type
        return next
    }

    /// What the agent says to the refusal of `token`: with `retry` comes a token that is one word.
    ///
    /// - Throws: ``AgentError`` with the code `loginRequired` if the session is over.
    package func answer(
        to token: consuming Secret,
        from endpoint: AgentEndpoint,
        about demand: TokenRequest
    ) throws(AgentError) -> ReportMessage {
        var json = JSONBody<ReportMembers>()
        json.add(\.token, secret: token)
        json.add(\.status, Int64(status))
        json.add(\.challenge, ReportMembers.fitting(challenge))
        json.add(\.body, ReportMembers.readable(body))
        if let place { json.add(\.host, place.text) }
        json.add(demand.scopes, demand.audience)
        var request = AgentRequest(.post, "sessions", demand.session, "report", body: json.finished())
        defer { request.wipeBody() }
        // It brings a token, and is waited for like one.
        var answer: ReportMessage = try endpoint.waiting(as: demand).message(request, timeout: .seconds(305))
        if answer.action != .retry || answer.accessToken?.utf8.isVisibleWord != true {
            answer.accessToken = nil
        }
        return answer
    }
}
