// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// What a server answered to a token, for the agent to judge.
struct RefusalReport {
    var token: TokenAnswer
    /// 401 or 403.
    var status: Int
    /// `WWW-Authenticate` (RFC 6750 §3).
    var challenge: String
    var body: [UInt8]
    /// The server that was asked, where that is known.
    var place: HostName?

    /// The token to try instead, or nil if another one would not help.
    ///
    /// - Throws: ``AgentError`` with the code `loginRequired` if the session is over.
    func send(to endpoint: AgentEndpoint, about demand: TokenDemand) throws(AgentError) -> TokenAnswer? {
        var json = JSONBody<ReportMembers>()
        json.add(\.token, secret: try Secret(Array(token.value.utf8), of: "token"))
        json.add(\.status, Int64(status))
        json.add(\.challenge, String(decoding: challenge.utf8.prefix(2048), as: UTF8.self))
        json.add(\.body, RefusalReport.readable(body))
        if let place { json.add(\.host, place.text) }
        json.add(demand.scopes, demand.audience)
        var request = AgentRequest(.post, "sessions", demand.session, "report", body: json.finished())
        defer { request.wipeBody() }
        let answer: ReportMessage = try endpoint.message(request, timeout: .seconds(305))
        guard answer.action == .retry, let fresh = answer.accessToken, fresh.utf8.isVisibleWord else {
            return nil
        }
        var next = token
        next.value = fresh
        next.type = TokenMessage(answer).tokenType ?? token.type
        return next
    }

    /// The JSON object at the beginning, without what curl's --write-out put after it; else all of the text.
    private static func readable(_ body: [UInt8]) -> String {
        for end in body.indices.reversed() where body[end] == UInt8(ascii: "}") {
            if (try? JSONValue(parsing: Array(body[...end]))) != nil {
                return String(decoding: body[...end], as: UTF8.self)
            }
        }
        return String(decoding: body, as: UTF8.self)
    }
}
